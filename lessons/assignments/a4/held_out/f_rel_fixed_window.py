"""Holds back the longest stop's length less one."""

FAILS = "a4.q4.piece"
MISTAKE = "release_holds_fixed_length"


def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, "", stop
    n = max((len(s) for s in stops), default=1) - 1
    return text[: len(text) - n], text[max(0, len(text) - n) :], None
