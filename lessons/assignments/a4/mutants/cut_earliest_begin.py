"""You cut at the stop that begins first; the one that is *completed* first counts."""

FAILS = "a4.q3.cut"


def cut(text, stops):
    found = [(text.index(stop), -len(stop), stop) for stop in stops if stop in text]
    return (text[: min(found)[0]], min(found)[2]) if found else (text, None)
