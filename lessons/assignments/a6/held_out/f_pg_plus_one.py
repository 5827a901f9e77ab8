"""Always one more."""

FAILS = "a6.q1.pages"
MISTAKE = "pages_always_one_more"


def pages(slots, size):
    return slots // size + 1
