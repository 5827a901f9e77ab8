"""Truncates a copy, the cache stays."""

FAILS = "a1.q6.rollback"
MISTAKE = "rollback_does_nothing"


def rollback(cache, length):
    cache = dict(cache)
    cache["length"] = min(cache["length"], length)
    return cache
