"""Only text.endswith."""

FAILS = "a4.q3.cut"
MISTAKE = "cut_at_the_end_only"


def cut(text, stops):
    for stop in sorted(stops, key=len, reverse=True):
        if text.endswith(stop):
            return text.removesuffix(stop), stop
    return text, None
