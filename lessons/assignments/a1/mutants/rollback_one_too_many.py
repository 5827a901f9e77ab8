"""Your rollback keeps one token too many."""

FAILS = "a1.q6.rollback"


def rollback(cache, length):
    cache["length"] = min(cache["length"], length + 1)
