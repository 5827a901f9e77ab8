"""In the order of arrival."""

FAILS = "a6.q4.preempt"
MISTAKE = "preempt_sorted"


def preempt(held, needs, free):
    out = []
    for k in sorted(held, reverse=True)[:-1]:
        if sum(v for n, v in needs.items() if n not in out) <= free:
            break
        out.append(k)
        free += held[k]
    return sorted(out)
