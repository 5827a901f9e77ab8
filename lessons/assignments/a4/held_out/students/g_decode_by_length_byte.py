"""Reads the length from the first byte, and never checks the others."""

FAILS = "a4.q5.characters"
MISTAKE = "decode_trusts_the_first_byte"


def decode(held, piece, final):
    data = held + piece
    out, i = "", 0
    while i < len(data):
        b = data[i]
        n = 1 if b < 0x80 else 2 if b < 0xE0 else 3 if b < 0xF0 else 4
        if i + n > len(data) and not final:
            return out, data[i:]
        out += data[i : i + n].decode("utf-8", "replace")
        i += n
    return out, b""
