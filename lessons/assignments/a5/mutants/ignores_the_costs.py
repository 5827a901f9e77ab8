"""You never look at c: four drafts that pay at c = 0.2 cost more than they save at c = 0.5."""

FAILS = "a5.q1.dear"


def plan(tokens, history, c, row):
    return {"gamma": 4, "stop_below": 0.0}
