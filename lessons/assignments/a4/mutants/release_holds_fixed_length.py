"""You always hold back as many characters as the longest stop has, less one; hold back only what may begin a stop."""

FAILS = "a4.q4.piece"


def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, "", stop
    size = max([len(one) - 1 for one in stops], default=0)
    place = max(0, len(text) - size)
    return text[:place], text[place:], None
