"""Holds back one character at most."""

FAILS = "a4.q4.piece"
MISTAKE = ""


def release(held, piece, stops):
    text = held + piece
    kept, stop = cut(text, stops)
    if stop:
        return kept, "", stop
    if text and any(s.startswith(text[-1]) for s in stops):
        return text[:-1], text[-1:], None
    return text, "", None
