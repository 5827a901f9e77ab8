"""Ignores a step back of a single token."""

FAILS = "a1.q6.rollback"


def rollback(cache, length):
    if cache["length"] - length > 1:
        cache["length"] = length
