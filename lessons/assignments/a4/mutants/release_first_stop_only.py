"""You hold back for the first stop of the list only."""

FAILS = "a4.q4.piece"


def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, "", stop
    for start in range(len(text)):
        if stops and stops[0].startswith(text[start:]):
            return text[:start], text[start:], None
    return text, "", None
