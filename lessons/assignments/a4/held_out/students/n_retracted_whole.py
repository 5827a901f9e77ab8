"""Counts the characters that differ place by place."""

FAILS = "a4.q9.retracted"
MISTAKE = "retracted_differing_characters"


def retracted(screens):
    n = 0
    for a, b in zip(screens, screens[1:]):
        n += sum(x != y for x, y in zip(a, b)) + max(0, len(a) - len(b))
    return n
