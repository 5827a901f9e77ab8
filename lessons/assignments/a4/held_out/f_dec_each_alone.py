"""Each piece alone."""

FAILS = "a4.q5.characters"
MISTAKE = "decode_piece_by_piece"


def decode(held, piece, final):
    return piece.decode("utf-8", "replace"), b""
