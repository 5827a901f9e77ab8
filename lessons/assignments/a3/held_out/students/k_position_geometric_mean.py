"""Takes the geometric mean of the acceptances for one alpha."""

FAILS = "a3.q7.position"


def tau_by_position(acceptances):
    if len(acceptances) == 0:
        return 1.0
    alpha = float(np.prod(acceptances)) ** (1 / len(acceptances))
    return tau(alpha, len(acceptances))
