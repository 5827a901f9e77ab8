"""Where there is no stop you return an empty text for it; return None."""

FAILS = "a4.q3.cut"


right_cut = cut


def cut(text, stops):
    before, stop = right_cut(text, stops)
    return before, stop or ""
