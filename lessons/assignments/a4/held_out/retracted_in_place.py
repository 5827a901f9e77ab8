"""Compares character by character."""

FAILS = "a4.q9.retracted"
MISTAKE = "retracted_differing_characters"

from itertools import zip_longest


def retracted(screens):
    lost = 0
    for old, new in zip(screens, screens[1:]):
        lost += sum(a is not None and a != b for a, b in zip_longest(old, new))
    return lost
