"""Takes the stop that begins first."""

FAILS = "a4.q3.cut"
MISTAKE = "cut_earliest_begin_then_alphabet"
ALSO = ("cut_earliest_begin",)


def cut(text, stops):
    found = [(text.find(s), s) for s in stops if s in text]
    if not found:
        return text, None
    where, stop = min(found)
    return text[:where], stop
