"""Does not strike out what the one set back would have needed."""

FAILS = "a6.q4.preempt"
MISTAKE = "preempt_counts_the_needs_of_victims"


def preempt(held, needs, free):
    gone, wanted = [], sum(needs.values())
    ids = sorted(held)
    while len(ids) > 1 and wanted > free:
        last = ids.pop()
        gone.append(last)
        free += held[last]
    return gone
