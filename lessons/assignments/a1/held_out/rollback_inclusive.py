"""Keeps slots 0 to length, both included."""

FAILS = "a1.q6.rollback"
MISTAKE = "rollback_one_too_many"


def rollback(cache, length):
    kept = [slot for slot in range(cache["length"]) if slot <= length]
    cache["length"] = len(kept)
