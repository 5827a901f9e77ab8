"""Shows nothing before the end."""

FAILS = "a4.q5.characters"
MISTAKE = "decode_all_or_nothing"


def decode(held, piece, final):
    everything = held + piece
    if final:
        return everything.decode("utf-8", errors="replace"), b""
    return "", everything
