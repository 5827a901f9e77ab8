"""You hold back only where the whole text so far may be a stop; its end alone may begin one."""

FAILS = "a4.q4.stream"


def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, "", stop
    if any(one.startswith(text) for one in stops):
        return "", text, None
    return text, "", None
