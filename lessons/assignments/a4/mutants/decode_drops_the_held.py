"""The bytes you hold back are lost: put them before the next piece."""

FAILS = "a4.q5.characters"


def decode(held, piece, final):
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(piece, final)
    return text, decoder.getstate()[0]
