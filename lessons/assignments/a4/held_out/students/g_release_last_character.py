"""Holds back as many characters as the longest stop lacks one of, always."""

FAILS = "a4.q4.piece"
MISTAKE = "release_holds_fixed_length"


def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, "", stop
    keep = max((len(s) for s in stops), default=1) - 1
    if keep == 0:
        return text, "", None
    return text[:-keep], text[-keep:], None
