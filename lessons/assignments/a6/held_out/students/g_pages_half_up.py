"""Rounds to the nearest whole page."""

FAILS = "a6.q1.pages"
MISTAKE = "pages_rounded_to_nearest"


def pages(slots, size):
    return int(slots / size + 0.5)
