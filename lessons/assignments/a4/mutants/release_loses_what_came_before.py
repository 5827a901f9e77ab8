"""Where a stop is found you show nothing; the text before it has to be shown."""

FAILS = "a4.q4.piece"


right_release = release


def release(held, piece, stops):
    shown, rest, stop = right_release(held, piece, stops)
    return ("" if stop else shown), rest, stop
