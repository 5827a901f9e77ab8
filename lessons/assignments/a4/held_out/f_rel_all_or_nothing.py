"""Holds all while any end begins a stop."""

FAILS = "a4.q4.piece"
MISTAKE = "release_holds_whole_piece"


def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, "", stop
    if any(s.startswith(text[i:]) for i in range(len(text)) for s in stops):
        return "", text, None
    return text, "", None
