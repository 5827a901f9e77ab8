"""All but the oldest."""

FAILS = "a6.q4.preempt"
MISTAKE = "preempt_everybody_but_the_oldest"


def preempt(held, needs, free):
    return sorted(held, reverse=True)[:-1] if sum(needs.values()) > free else []
