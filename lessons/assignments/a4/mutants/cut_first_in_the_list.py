"""You cut at the first stop of the list that occurs; the one completed first in the text counts."""

FAILS = "a4.q3.cut"


def cut(text, stops):
    for stop in stops:
        if stop in text:
            return text[: text.index(stop)], stop
    return text, None
