"""You look at the new piece only, and show at once what was held back; both together may be a stop, or its
beginning.
"""

FAILS = "a4.q4.piece"


def release(held, piece, stops):
    text, stop = cut(piece, stops)
    if stop is not None:
        return held + text, "", stop
    for start in range(len(text)):
        if any(one.startswith(text[start:]) for one in stops):
            return held + text[:start], text[start:], None
    return held + text, "", None
