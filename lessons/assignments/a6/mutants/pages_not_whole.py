"""Pages are whole: you return a fraction."""

FAILS = "a6.q1.pages"


def pages(slots, size):
    return slots / size
