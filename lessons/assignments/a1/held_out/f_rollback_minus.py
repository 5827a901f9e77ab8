"""Keeps length - 1 tokens."""

FAILS = "a1.q6.rollback"
MISTAKE = "rollback_one_too_few"


def rollback(cache, length):
    cache["length"] = min(cache["length"], max(0, length - 1))
