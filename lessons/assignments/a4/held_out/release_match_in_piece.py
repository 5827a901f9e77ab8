"""cut(piece)."""

FAILS = "a4.q4.piece"
MISTAKE = "release_piece_by_piece"


def release(held, piece, stops):
    kept, stop = cut(piece, stops)
    if stop:
        return held + kept, "", stop
    text = held + piece
    for size in range(len(text), 0, -1):
        if any(s.startswith(text[-size:]) for s in stops):
            return text[:-size], text[-size:], None
    return text, "", None
