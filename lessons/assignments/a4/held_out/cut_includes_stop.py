"""text[:end]."""

FAILS = "a4.q3.cut"
MISTAKE = "cut_keeps_the_stop"


def cut(text, stops):
    ends = sorted((text.find(stop) + len(stop), -len(stop), stop) for stop in stops if stop in text)
    return (text[: ends[0][0]], ends[0][2]) if ends else (text, None)
