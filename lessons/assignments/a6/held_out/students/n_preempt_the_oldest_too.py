"""May set back the oldest."""

FAILS = "a6.q4.preempt"
MISTAKE = "preempt_the_oldest_too"


def preempt(held, needs, free):
    gone = []
    ids = sorted(held)
    while ids and sum(needs.get(i, 0) for i in ids) > free:
        last = ids.pop()
        gone.append(last)
        free += held[last]
    return gone
