"""You keep the stop in the text; the text ends before it."""

FAILS = "a4.q3.cut"


def cut(text, stops):
    for end in range(1, len(text) + 1):
        complete = [stop for stop in stops if text[:end].endswith(stop)]
        if complete:
            return text[:end], max(complete, key=len)
    return text, None
