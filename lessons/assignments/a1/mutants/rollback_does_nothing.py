"""Your rollback changes nothing: the rejected tokens stay in the cache."""

FAILS = "a1.q6.rollback"


def rollback(cache, length):
    pass
