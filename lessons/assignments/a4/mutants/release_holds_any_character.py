"""You hold back from the first character that occurs in a stop; only an end that *begins* a stop is in danger."""

FAILS = "a4.q4.piece"


def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, "", stop
    letters = set("".join(stops))
    place = len(text)
    while place and text[place - 1] in letters:
        place -= 1
    return text[:place], text[place:], None
