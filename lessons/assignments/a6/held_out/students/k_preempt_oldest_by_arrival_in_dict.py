"""Takes the last key of the dictionary for the youngest."""

FAILS = "a6.q4.preempt"
MISTAKE = "preempt_as_listed"


def preempt(held, needs, free):
    order, gone = list(held), []

    def want():
        return sum(needs.get(i, 0) for i in order)

    while len(order) > 1 and want() > free:
        last = order.pop()
        free += held[last]
        gone.append(last)
    return gone
