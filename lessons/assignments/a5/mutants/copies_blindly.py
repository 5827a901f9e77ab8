"""You propose the last tokens again whether or not the text repeats: wrong tokens cost rows of the target."""

FAILS = "a5.q1.dear"


def plan(tokens, history, c, row):
    return {"copy": tokens[-8:]}
