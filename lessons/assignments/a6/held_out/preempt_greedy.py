"""Sets the largest back."""

FAILS = "a6.q4.preempt"
MISTAKE = "preempt_largest_first"


def preempt(held, needs, free):
    gone = []
    while sum(n for i, n in needs.items() if i not in gone) > free:
        left = [i for i in sorted(held)[1:] if i not in gone]
        if not left:
            break
        victim = max(left, key=lambda i: held[i])
        gone.append(victim)
        free += held[victim]
    return gone
