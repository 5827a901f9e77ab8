"""Your rollback drops `length` tokens; it must keep the first `length`."""

FAILS = "a1.q6.rollback"


def rollback(cache, length):
    cache["length"] = max(0, cache["length"] - length)
