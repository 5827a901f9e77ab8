"""Takes the argument for the number of tokens to drop."""

FAILS = "a1.q6.rollback"
MISTAKE = "rollback_drops_that_many"


def rollback(cache, length):
    cache["length"] = max(0, cache["length"] - length)
