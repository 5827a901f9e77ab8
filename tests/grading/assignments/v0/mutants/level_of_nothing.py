"""You leave the floor out: `level` is never below it."""

FAILS = "v0.q2.level"


def level(x):
    return float(x)
