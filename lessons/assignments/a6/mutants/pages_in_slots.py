"""Pages, not the slots in them."""

FAILS = "a6.q1.pages"


def pages(slots, size):
    return -(-slots // size) * size
