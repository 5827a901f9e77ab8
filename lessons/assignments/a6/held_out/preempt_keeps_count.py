"""Subtracts no needs."""

FAILS = "a6.q4.preempt"
MISTAKE = "preempt_counts_the_needs_of_victims"


def preempt(held, needs, free):
    missing, gone = sum(needs.values()) - free, []
    for number in sorted(held)[:0:-1]:
        if missing <= 0:
            break
        missing -= held[number]
        gone.append(number)
    return gone
