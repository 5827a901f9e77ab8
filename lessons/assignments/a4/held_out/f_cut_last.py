"""The last occurrence."""

FAILS = "a4.q3.cut"
MISTAKE = "cut_last_occurrence"


def cut(text, stops):
    found = [(text.rfind(s) + len(s), s) for s in stops if s in text]
    if not found:
        return text, None
    end, s = min(found, key=lambda f: (f[0], -len(f[1])))
    return text[: end - len(s)], s
