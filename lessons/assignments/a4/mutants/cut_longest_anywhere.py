"""You look for the longest stop in the whole text before the others; the one that is completed first counts."""

FAILS = "a4.q3.cut"


def cut(text, stops):
    for stop in sorted(stops, key=len, reverse=True):
        if stop in text:
            return text[: text.index(stop)], stop
    return text, None
