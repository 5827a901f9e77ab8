"""Holds back longest - 1 characters."""

FAILS = "a4.q4.piece"
MISTAKE = "release_holds_fixed_length"


def release(held, piece, stops):
    text = held + piece
    kept, stop = cut(text, stops)
    if stop:
        return kept, "", stop
    window = max((len(stop) for stop in stops), default=1) - 1
    safe = len(text) - min(window, len(text))
    return text[:safe], text[safe:], None
