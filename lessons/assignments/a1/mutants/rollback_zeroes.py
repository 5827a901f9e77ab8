"""You set the dropped keys and values to zero but keep them: a key of zeros still gets weight. Shorten the cache."""

FAILS = "a1.q6.rollback"


def rollback(cache, length):
    cache["keys"][:, length:] = 0.0
    cache["values"][:, length:] = 0.0
