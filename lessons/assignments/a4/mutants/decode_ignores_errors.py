"""You drop bytes that are no character; they become U+FFFD."""

FAILS = "a4.q5.characters"


def decode(held, piece, final):
    decoder = codecs.getincrementaldecoder("utf-8")("ignore")
    return decoder.decode(held + piece, final), decoder.getstate()[0]
