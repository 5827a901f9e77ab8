"""You strip white space from the text; it belongs to it."""

FAILS = "a4.q3.cut"

right_cut = cut


def cut(text, stops):
    kept, stop = right_cut(text, stops)
    return kept.strip(), stop and stop.strip()
