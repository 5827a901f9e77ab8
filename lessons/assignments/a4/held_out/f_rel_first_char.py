"""From the first place of a stop's first character on."""

FAILS = "a4.q4.piece"
MISTAKE = "release_holds_any_character"


def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, "", stop
    at = min((text.find(s[0]) for s in stops if s[0] in text), default=len(text))
    return text[:at], text[at:], None
