"""Passes over those that hold no page."""

FAILS = "a6.q4.preempt"
MISTAKE = "preempt_only_who_holds"


def preempt(held, needs, free):
    out = []
    short = sum(needs.values()) - free
    for i in sorted(held, reverse=True)[:-1]:
        if short <= 0:
            break
        if held[i] == 0:
            continue
        out.append(i)
        short -= held[i] + needs.get(i, 0)
    return out
