"""Holds from the first place where the first character of a stop appears."""

FAILS = "a4.q4.piece"
MISTAKE = "release_holds_from_a_first_character"


def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop:
        return text, "", stop
    starts = [text.find(s[0]) for s in stops if s[0] in text]
    if starts:
        return text[: min(starts)], text[min(starts) :], None
    return text, "", None
