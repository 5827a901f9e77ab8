"""You look for a stop only at the end of the text; it may stand anywhere."""

FAILS = "a4.q3.cut"


def cut(text, stops):
    complete = [stop for stop in stops if text.endswith(stop)]
    return (text[: len(text) - len(max(complete, key=len))], max(complete, key=len)) if complete else (text, None)
