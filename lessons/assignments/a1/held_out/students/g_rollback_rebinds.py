"""Assigns shortened copies to local names, which leaves the cache as it was."""

FAILS = "a1.q6.rollback"
MISTAKE = "rollback_does_nothing"


def rollback(cache, length):
    keys, values, n = cache["keys"], cache["values"], cache["length"]
    if length < n:
        keys = keys[:, :length]
        values = values[:, :length]
        n = length
    return {"keys": keys, "values": values, "length": n}
