"""Holds the whole piece until it decodes."""

FAILS = "a4.q5.characters"
MISTAKE = "decode_all_or_nothing"


def decode(held, piece, final):
    data = held + piece
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        if not final:
            return "", data
        text = data.decode("utf-8", errors="replace")
    return text, b""
