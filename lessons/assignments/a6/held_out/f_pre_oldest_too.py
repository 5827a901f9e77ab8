"""The oldest may be set back."""

FAILS = "a6.q4.preempt"
MISTAKE = "preempt_the_oldest_too"


def preempt(held, needs, free):
    out = []
    for k in sorted(held, reverse=True):
        if sum(v for n, v in needs.items() if n not in out) <= free:
            break
        out.append(k)
        free += held[k]
    return out
