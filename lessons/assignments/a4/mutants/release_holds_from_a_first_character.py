"""You hold back from the first place where a stop's first character stands; only an end of the text that begins a stop is in danger."""

FAILS = "a4.q4.piece"


def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, "", stop
    start = min((text.index(one[0]) for one in stops if one[0] in text), default=len(text))
    return text[:start], text[start:], None
