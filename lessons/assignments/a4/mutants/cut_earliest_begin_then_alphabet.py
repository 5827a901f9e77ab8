"""You cut at the stop that begins first; the one that is *completed* first counts, and of those the longest."""

FAILS = "a4.q3.cut"


def cut(text, stops):
    found = [(text.index(stop), stop) for stop in stops if stop in text]
    return (text[: min(found)[0]], min(found)[1]) if found else (text, None)
