"""The needs of those set back still count."""

FAILS = "a6.q4.preempt"
MISTAKE = "preempt_counts_the_needs_of_victims"


def preempt(held, needs, free):
    out, total = [], sum(needs.values())
    for k in sorted(held, reverse=True)[:-1]:
        if total <= free:
            break
        out.append(k)
        free += held[k]
    return out
