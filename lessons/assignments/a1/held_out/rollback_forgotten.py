"""Assigns to a local name."""

FAILS = "a1.q6.rollback"
MISTAKE = "rollback_does_nothing"


def rollback(cache, length):
    cache = {name: value for name, value in cache.items()}
    cache["length"] = min(cache["length"], length)
