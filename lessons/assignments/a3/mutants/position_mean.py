"""You put the mean acceptance into the formula for equal ones; that is not the same."""

FAILS = "a3.q7.position"


def tau_by_position(acceptances):
    return tau(float(np.mean(acceptances)) if len(acceptances) else 0.0, len(acceptances))
