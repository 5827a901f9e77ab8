"""Keeps one token too many."""

FAILS = "a1.q6.rollback"
MISTAKE = "rollback_one_too_many"


def rollback(cache, length):
    if length < cache["length"]:
        cache["length"] = length + 1
