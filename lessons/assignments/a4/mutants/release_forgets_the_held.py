"""What was held back and turns out to be harmless is never shown."""

FAILS = "a4.q4.stream"


def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, "", stop
    for start in range(len(text)):
        if any(one.startswith(text[start:]) for one in stops):
            return text[len(held) : start], text[start:], None
    return text[len(held) :], "", None
