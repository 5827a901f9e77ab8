"""Only ends that begin the first stop."""

FAILS = "a4.q4.piece"
MISTAKE = "release_first_stop_only"


def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, "", stop
    for i in range(len(text)):
        if stops and stops[0].startswith(text[i:]):
            return text[:i], text[i:], None
    return text, "", None
