"""You look for the stop in the new piece only; a stop may begin in what is held back."""

FAILS = "a4.q4.piece"


def release(held, piece, stops):
    text, stop = cut(piece, stops)
    if stop is not None:
        return held + text, "", stop
    for start in range(len(held + piece)):
        if any(one.startswith((held + piece)[start:]) for one in stops):
            return (held + piece)[:start], (held + piece)[start:], None
    return held + piece, "", None
