"""Tries the longest stops first and takes the first that occurs anywhere."""

FAILS = "a4.q3.cut"
MISTAKE = "cut_longest_anywhere"


def cut(text, stops):
    for stop in sorted(stops, key=len, reverse=True):
        at = text.find(stop)
        if at >= 0:
            return text[:at], stop
    return text, None
