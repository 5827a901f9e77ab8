"""You only choose how many tokens the draft model proposes. That is sound, and not enough here: this text repeats
itself, and copies cost no draft forwards.
"""

FAILS = "a5.q2.better"


def plan(tokens, history, c, row):
    return drafting(history, c, row)
