"""errors="ignore" with a tail held back."""

FAILS = "a4.q5.characters"
MISTAKE = "decode_ignores_errors"


def decode(held, piece, final):
    data = held + piece
    for size in range(0, 4):
        head, tail = data[: len(data) - size], data[len(data) - size :]
        try:
            head.decode()
        except UnicodeDecodeError as error:
            if error.reason == "unexpected end of data" and not final:
                continue
            return data.decode("utf-8", "ignore"), b""
        return head.decode(), tail
    return data.decode("utf-8", "ignore"), b""
