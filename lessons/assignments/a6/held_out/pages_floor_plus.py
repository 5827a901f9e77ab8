"""Adds a page unless the division is nothing."""

FAILS = "a6.q1.pages"
MISTAKE = "pages_always_one_more"


def pages(slots, size):
    full = slots // size
    return full + 1
