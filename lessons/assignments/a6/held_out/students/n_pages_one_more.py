"""Adds one page always."""

FAILS = "a6.q1.pages"


def pages(slots, size):
    return slots // size + 1 if slots else 0
