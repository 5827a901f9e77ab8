"""The leftmost occurrence."""

FAILS = "a4.q3.cut"
MISTAKE = "cut_earliest_begin"


def cut(text, stops):
    best, chosen = len(text), None
    for stop in sorted(stops, key=len, reverse=True):
        place = text.find(stop)
        if 0 <= place < best:
            best, chosen = place, stop
    return text[:best], chosen
