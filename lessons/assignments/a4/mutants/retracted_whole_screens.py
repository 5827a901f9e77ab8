"""You take the whole screen for gone where anything changed; what both begin with stays."""

FAILS = "a4.q9.retracted"


def retracted(screens):
    return sum(0 if after.startswith(before) else len(before) for before, after in pairwise(screens))
