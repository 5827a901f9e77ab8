"""The page size is an argument; you count with 16."""

FAILS = "a6.q1.pages"


def pages(slots, size):
    return -(-slots // 16)
