"""At the end you still hold bytes back; an unfinished character becomes U+FFFD then."""

FAILS = "a4.q5.characters"


def decode(held, piece, final):
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return decoder.decode(held + piece, False), decoder.getstate()[0]
