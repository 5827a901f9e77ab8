"""Never holds anything back."""

FAILS = "a4.q4.piece"
MISTAKE = "release_everything"


def release(held, piece, stops):
    kept, stop = cut(held + piece, stops)
    return (kept, "", stop) if stop else (held + piece, "", None)
