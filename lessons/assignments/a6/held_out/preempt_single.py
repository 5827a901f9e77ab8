"""Sets one back at most."""

FAILS = "a6.q4.preempt"
MISTAKE = "preempt_one_only"


def preempt(held, needs, free):
    if sum(needs.values()) > free and len(held) > 1:
        return [max(held)]
    return []
