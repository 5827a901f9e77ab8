"""Your sum stops one short: after full acceptance there is a bonus token, so powers go up to alpha**gamma."""

FAILS = "a3.q2.tau"


def tau(alpha, gamma):
    return float(sum(alpha**k for k in range(gamma))) if gamma else 1.0
