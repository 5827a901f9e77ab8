"""Rounded."""

FAILS = "a6.q1.pages"
MISTAKE = "pages_rounded_to_nearest"


def pages(slots, size):
    return round(slots / size)
