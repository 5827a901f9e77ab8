"""Bytes first."""

FAILS = "a3.q5.costs"
MISTAKE = ""

right_costs = forward_costs


def forward_costs(*args):
    return right_costs(*args)[::-1]
