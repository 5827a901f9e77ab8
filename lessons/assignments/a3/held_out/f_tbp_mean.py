"""Tau of the mean."""

FAILS = "a3.q7.position"
MISTAKE = "position_mean"


def tau_by_position(acceptances):
    return tau(float(np.mean(acceptances)), len(acceptances)) if len(acceptances) else 1.0
