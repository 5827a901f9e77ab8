"""Nothing is held."""

FAILS = "a4.q4.piece"
MISTAKE = "release_everything"


def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    return text, "", stop
