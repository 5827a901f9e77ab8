"""A page that is partly filled is a page: you round down."""

FAILS = "a6.q1.pages"


def pages(slots, size):
    return slots // size
