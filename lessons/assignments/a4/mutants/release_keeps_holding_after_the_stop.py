"""After a stop you still hold text back; nothing follows it any more."""

FAILS = "a4.q4.piece"


def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, (held + piece)[len(text) + len(stop) :], stop
    for start in range(len(text)):
        if any(one.startswith(text[start:]) for one in stops):
            return text[:start], text[start:], None
    return text, "", None
