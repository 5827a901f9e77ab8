"""Adds one to the whole part."""

FAILS = "a6.q1.pages"
MISTAKE = "pages_always_one_more"


def pages(slots, size):
    full = 0
    while slots >= size:
        slots -= size
        full += 1
    return full + 1
