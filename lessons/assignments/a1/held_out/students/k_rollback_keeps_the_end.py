"""Keeps the last tokens instead of the first."""

FAILS = "a1.q6.rollback"


def rollback(cache, length):
    n = cache["length"]
    if length < n:
        cache["keys"][:, :length] = cache["keys"][:, n - length : n].copy()
        cache["values"][:, :length] = cache["values"][:, n - length : n].copy()
        cache["length"] = length
