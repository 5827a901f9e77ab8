"""The stop stays."""

FAILS = "a4.q3.cut"
MISTAKE = "cut_keeps_the_stop"


def cut(text, stops):
    for end in range(1, len(text) + 1):
        hit = [s for s in stops if text[:end].endswith(s)]
        if hit:
            return text[:end], max(hit, key=len)
    return text, None
