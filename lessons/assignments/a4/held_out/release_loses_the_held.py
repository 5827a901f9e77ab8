"""Shows only the new piece when nothing needs holding."""

FAILS = "a4.q4.stream"
MISTAKE = "release_forgets_the_held"


def release(held, piece, stops):
    text = held + piece
    kept, stop = cut(text, stops)
    if stop:
        return kept, "", stop
    for size in range(len(text), 0, -1):
        if any(s.startswith(text[-size:]) for s in stops):
            return text[:-size], text[-size:], None
    return piece, "", None
