"""Your rollback empties the cache: right only if you then fed everything again."""

FAILS = "a1.q6.rollback"


def rollback(cache, length):
    cache["length"] = 0
