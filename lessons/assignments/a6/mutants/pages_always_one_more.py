"""A text that fills its last page exactly needs no other: you count one too many."""

FAILS = "a6.q1.pages"


def pages(slots, size):
    return slots // size + 1
