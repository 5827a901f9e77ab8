"""Takes a length of 0 for no length given, and keeps everything."""

FAILS = "a1.q6.rollback"


def rollback(cache, length):
    if length and length < cache["length"]:
        cache["length"] = length
