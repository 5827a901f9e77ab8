"""Of two stops completed by the same character you take the shorter; the longest counts."""

FAILS = "a4.q3.cut"


def cut(text, stops):
    for end in range(1, len(text) + 1):
        complete = [stop for stop in stops if text[:end].endswith(stop)]
        if complete:
            stop = min(complete, key=len)
            return text[: end - len(stop)], stop
    return text, None
