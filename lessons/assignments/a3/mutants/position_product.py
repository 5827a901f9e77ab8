"""You add only the probability that all are accepted; each accepted beginning yields tokens too."""

FAILS = "a3.q7.position"


def tau_by_position(acceptances):
    return float(1.0 + len(acceptances) * np.prod(acceptances))
