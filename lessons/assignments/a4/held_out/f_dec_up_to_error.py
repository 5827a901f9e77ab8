"""Holds back from the first error on."""

FAILS = "a4.q5.characters"
MISTAKE = ""


def decode(held, piece, final):
    data = held + piece
    try:
        return data.decode("utf-8"), b""
    except UnicodeDecodeError as e:
        if final:
            return data.decode("utf-8", "replace"), b""
        return data[: e.start].decode("utf-8"), data[e.start :]
