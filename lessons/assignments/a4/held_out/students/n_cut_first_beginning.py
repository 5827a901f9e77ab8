"""Takes the stop that begins first."""

FAILS = "a4.q3.cut"
MISTAKE = "cut_earliest_begin"


def cut(text, stops):
    hits = [(text.find(s), -len(s), s) for s in stops if s in text]
    if not hits:
        return text, None
    at, _, stop = min(hits)
    return text[:at], stop
