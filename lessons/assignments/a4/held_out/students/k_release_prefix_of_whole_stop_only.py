"""Holds a text back only if it lacks no more than its last character of a stop."""

FAILS = "a4.q4.piece"


def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, "", stop
    for s in sorted(stops, key=len, reverse=True):
        if len(s) > 1 and text.endswith(s[:-1]):
            at = len(text) - len(s) + 1
            return text[:at], text[at:], None
    return text, "", None
