"""Somebody has to make room where pages run out."""

FAILS = "a6.q4.preempt"


def preempt(held, needs, free):
    return []
