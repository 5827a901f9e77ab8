"""Tries shorter and shorter beginnings, and holds the rest back, however long it is."""

FAILS = "a4.q5.characters"


def decode(held, piece, final):
    data = held + piece
    if final:
        return data.decode("utf-8", "replace"), b""
    for end in range(len(data), -1, -1):
        try:
            return data[:end].decode("utf-8"), data[end:]
        except UnicodeDecodeError:
            pass
