"""Nothing needs no page."""

FAILS = "a6.q1.pages"


def pages(slots, size):
    return max(1, -(-slots // size))
