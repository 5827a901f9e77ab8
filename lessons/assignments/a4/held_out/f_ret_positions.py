"""Characters that differ place by place."""

FAILS = "a4.q9.retracted"
MISTAKE = "retracted_differing_characters"


def retracted(screens):
    return sum(sum(x != y for x, y in zip(a, b)) + max(0, len(a) - len(b)) for a, b in pairwise(screens))
