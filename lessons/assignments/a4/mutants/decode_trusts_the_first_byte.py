"""You read from the first byte how many follow, and take them without a look: a byte that cannot follow ends the character there, and may begin the next."""

FAILS = "a4.q5.characters"


def decode(held, piece, final):
    data, text, at = held + piece, "", 0
    while at < len(data):
        size = 1 + sum(data[at] >= limit for limit in (0x80, 0xE0, 0xF0))
        if at + size > len(data) and not final:
            break
        text += data[at : at + size].decode("utf-8", "replace")
        at += size
    return text, data[at:]
