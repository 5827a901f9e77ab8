"""You return a number; a plan is a dictionary with "copy", or with "gamma" and "stop_below"."""

FAILS = "a5.q1.dear"


def plan(tokens, history, c, row):
    return 3
