"""You take each byte for a character; UTF-8 characters have up to four bytes."""

FAILS = "a4.q5.characters"


def decode(held, piece, final):
    return (held + piece).decode("latin-1"), b""
