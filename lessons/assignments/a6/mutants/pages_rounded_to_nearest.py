"""You round to the nearest number; any rest needs a page."""

FAILS = "a6.q1.pages"


def pages(slots, size):
    return round(slots / size)
