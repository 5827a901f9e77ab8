"""UTF-8 without the codec's memory: look for the beginning of an unfinished character among the last three bytes."""


def decode(held, piece, final):
    data = held + piece
    if not final:
        for back in range(1, min(3, len(data)) + 1):
            lead = data[-back]
            if lead >= 0xC0:
                wanted = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4 if lead < 0xF5 else 1
                if wanted > back:
                    return data[:-back].decode("utf-8", errors="replace"), data[-back:]
                break
            if lead < 0x80:
                break
    return str(data, "utf-8", "replace"), bytes()
