"""Your rollback keeps one token too few."""

FAILS = "a1.q6.rollback"


def rollback(cache, length):
    cache["length"] = max(0, min(cache["length"], length - 1))
