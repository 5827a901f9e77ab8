"""You always draft at least one token, also when none has been right for a long time."""

FAILS = "a5.q1.useless"


def plan(tokens, history, c, row):
    return drafting(history, c, row) | {"gamma": max(1, drafting(history, c, row)["gamma"])}
