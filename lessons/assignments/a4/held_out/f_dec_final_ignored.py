"""Never final."""

FAILS = "a4.q5.characters"
MISTAKE = "decode_never_flushes"


def decode(held, piece, final):
    d = codecs.getincrementaldecoder("utf-8")("replace")
    return d.decode(held + piece, False), d.getstate()[0]
