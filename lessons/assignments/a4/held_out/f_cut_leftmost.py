"""The leftmost beginning."""

FAILS = "a4.q3.cut"
MISTAKE = "cut_earliest_begin"


def cut(text, stops):
    found = [(text.find(s), s) for s in stops if s in text]
    if not found:
        return text, None
    at, stop = min(found, key=lambda f: (f[0], -len(f[1])))
    return text[:at], stop
