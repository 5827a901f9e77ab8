"""final is not used."""

FAILS = "a4.q5.characters"
MISTAKE = "decode_never_flushes"

right_decode = decode


def decode(held, piece, final):
    return right_decode(held, piece, False)
