"""You hold everything back while any byte is missing; characters that are complete can be shown."""

FAILS = "a4.q5.characters"


def decode(held, piece, final):
    data = held + piece
    try:
        return data.decode("utf-8"), b""
    except UnicodeDecodeError:
        return (data.decode("utf-8", "replace"), b"") if final else ("", data)
