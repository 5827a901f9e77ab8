"""You raise an error on bytes that are no character; they become U+FFFD."""

FAILS = "a4.q5.characters"


def decode(held, piece, final):
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    return decoder.decode(held + piece, final), decoder.getstate()[0]
