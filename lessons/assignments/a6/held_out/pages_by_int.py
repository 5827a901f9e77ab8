"""Cuts the digits off."""

FAILS = "a6.q1.pages"
MISTAKE = "pages_rounded_down"


def pages(slots, size):
    return int(slots / size)
