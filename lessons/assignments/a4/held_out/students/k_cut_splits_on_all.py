"""Cuts at each stop in turn, and reports the last one that cut anything."""

FAILS = "a4.q3.cut"


def cut(text, stops):
    found = None
    for stop in stops:
        before, middle, _ = text.partition(stop)
        if middle:
            text, found = before, stop
    return text, found
