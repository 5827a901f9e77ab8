"""Goes on to the last."""

FAILS = "a6.q4.preempt"
MISTAKE = "preempt_the_oldest_too"


def preempt(held, needs, free):
    gone = []
    for number in sorted(held)[::-1]:
        if sum(n for i, n in needs.items() if i not in gone) <= free:
            break
        gone.append(number)
        free += held[number]
    return gone
