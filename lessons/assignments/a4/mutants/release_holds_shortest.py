"""You hold back the shortest end that may begin a stop; the longest is needed."""

FAILS = "a4.q4.piece"


def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, "", stop
    for start in reversed(range(len(text))):
        if any(one.startswith(text[start:]) for one in stops):
            return text[:start], text[start:], None
    return text, "", None
