"""Shows nothing at all while the end might be a stop."""

FAILS = "a4.q4.piece"
MISTAKE = "release_holds_whole_piece"


def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, "", stop
    for s in stops:
        for n in range(1, len(s)):
            if text.endswith(s[:n]):
                return "", text, None
    return text, "", None
