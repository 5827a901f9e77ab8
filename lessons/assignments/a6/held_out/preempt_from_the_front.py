"""Sets the oldest back."""

FAILS = "a6.q4.preempt"
MISTAKE = "preempt_oldest_first"


def preempt(held, needs, free):
    order, gone = sorted(held), []
    while len(gone) < len(order) - 1 and sum(n for i, n in needs.items() if i not in gone) > free:
        free += held[order[len(gone)]]
        gone.append(order[len(gone)])
    return gone
