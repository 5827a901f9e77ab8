"""You cut at the last occurrence of a stop; the first one ends the text."""

FAILS = "a4.q3.cut"


def cut(text, stops):
    for end in range(len(text), 0, -1):
        complete = [stop for stop in stops if text[:end].endswith(stop)]
        if complete:
            stop = max(complete, key=len)
            return text[: end - len(stop)], stop
    return text, None
