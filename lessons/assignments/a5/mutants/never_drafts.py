"""You never draft; this is plain decoding."""

FAILS = "a5.q2.fixed"


def plan(tokens, history, c, row):
    return {"gamma": 0, "stop_below": 0.0}
