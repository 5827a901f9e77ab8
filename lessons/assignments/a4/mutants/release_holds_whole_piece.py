"""You hold the whole piece back where its end may begin a stop; what comes before that end is safe."""

FAILS = "a4.q4.piece"


def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, "", stop
    if any(one.startswith(text[start:]) for one in stops for start in range(len(text))):
        return "", text, None
    return text, "", None
