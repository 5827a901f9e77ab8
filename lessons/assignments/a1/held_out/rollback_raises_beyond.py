"""Refuses a length beyond what is held."""

FAILS = "a1.q6.rollback"
MISTAKE = ""


def rollback(cache, length):
    assert length <= cache["length"], "cannot go forward"
    cache["length"] = length
