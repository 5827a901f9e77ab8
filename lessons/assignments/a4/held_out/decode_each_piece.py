"""piece.decode(errors="replace")."""

FAILS = "a4.q5.characters"
MISTAKE = "decode_piece_by_piece"


def decode(held, piece, final):
    return str(piece, "utf-8", errors="replace"), b""
