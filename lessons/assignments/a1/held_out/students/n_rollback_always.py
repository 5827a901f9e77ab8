"""Sets the length also where it is larger than the cache's."""

FAILS = "a1.q6.rollback"
MISTAKE = "rollback_lengthens"


def rollback(cache, length):
    cache["length"] = length
