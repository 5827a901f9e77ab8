"""Of those completed together the list's first."""

FAILS = "a4.q3.cut"
MISTAKE = ""


def cut(text, stops):
    for end in range(1, len(text) + 1):
        for s in stops:
            if text[:end].endswith(s):
                return text[: end - len(s)], s
    return text, None
