"""Goes back by `length` tokens."""

FAILS = "a1.q6.rollback"
MISTAKE = "rollback_drops_that_many"


def rollback(cache, length):
    cache["length"] = max(0, cache["length"] - length)
