"""Going back to a length beyond what the cache holds must change nothing: keep at most `length` tokens."""

FAILS = "a1.q6.rollback"


def rollback(cache, length):
    cache["length"] = length
