"""You draft as much as you may in every step: behind the first wrong token all of it is paid for nothing."""

FAILS = "a5.q2.fixed"


def plan(tokens, history, c, row):
    return {"gamma": 8, "stop_below": 0.0}
