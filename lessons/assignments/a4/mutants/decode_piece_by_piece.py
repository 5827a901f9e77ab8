"""You decode each piece on its own: a character that spans two tokens becomes two replacement characters."""

FAILS = "a4.q5.characters"


def decode(held, piece, final):
    return piece.decode("utf-8", "replace"), b""
