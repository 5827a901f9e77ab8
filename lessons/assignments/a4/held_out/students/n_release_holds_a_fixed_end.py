"""Always holds back as many characters as the longest stop has but one."""

FAILS = "a4.q4.piece"
MISTAKE = "release_holds_fixed_length"


def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop:
        return text, "", stop
    n = max((len(s) for s in stops), default=1) - 1
    at = max(len(text) - n, 0)
    return text[:at], text[at:], None
