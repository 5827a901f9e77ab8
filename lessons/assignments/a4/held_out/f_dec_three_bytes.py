"""Holds at most one byte."""

FAILS = "a4.q5.characters"
MISTAKE = "decode_holds_one_byte_at_most"


def decode(held, piece, final):
    data = held + piece
    if not final and data and data[-1] >= 0xC0:
        return data[:-1].decode("utf-8", "replace"), data[-1:]
    return data.decode("utf-8", "replace"), b""
