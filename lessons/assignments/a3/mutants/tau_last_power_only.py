"""You weigh full acceptance only; a draft accepted in part yields tokens too."""

FAILS = "a3.q2.tau"


def tau(alpha, gamma):
    return 1.0 + gamma * alpha**gamma
