"""Stops as soon as somebody has given back as many pages as were missing at first, without the victims' needs."""

FAILS = "a6.q4.preempt"
MISTAKE = "preempt_counts_the_needs_of_victims"


def preempt(held, needs, free):
    missing = sum(needs.values()) - free
    out = []
    for i in sorted(held, reverse=True):
        if missing <= 0 or len(out) == len(held) - 1:
            break
        out.append(i)
        missing -= held[i]
    return out
