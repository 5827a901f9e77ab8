"""Leaves the victims' own needs in the sum."""

FAILS = "a6.q4.preempt"
MISTAKE = "preempt_counts_the_needs_of_victims"


def preempt(held, needs, free):
    total = 0
    for i in needs:
        total += needs[i]
    victims = []
    ids = list(reversed(sorted(held)))
    while total > free and len(ids) > 1:
        youngest = ids.pop(0)
        victims.append(youngest)
        free += held[youngest]
    return victims
