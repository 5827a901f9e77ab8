"""You ignore upper and lower case."""

FAILS = "a4.q3.cut"


def cut(text, stops):
    for end in range(1, len(text) + 1):
        complete = [stop for stop in stops if text[:end].lower().endswith(stop.lower())]
        if complete:
            stop = max(complete, key=len)
            return text[: end - len(stop)], stop
    return text, None
