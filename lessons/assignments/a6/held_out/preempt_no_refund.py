"""Forgets what comes back."""

FAILS = "a6.q4.preempt"
MISTAKE = "preempt_forgets_what_is_given_back"


def preempt(held, needs, free):
    gone = []
    for number in sorted(held)[:0:-1]:
        if sum(n for i, n in needs.items() if i not in gone) <= free:
            break
        gone.append(number)
    return gone
