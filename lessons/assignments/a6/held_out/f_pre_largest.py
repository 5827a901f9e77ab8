"""The one that holds most."""

FAILS = "a6.q4.preempt"
MISTAKE = "preempt_largest_first"


def preempt(held, needs, free):
    out = []
    old = min(held) if held else None
    for k in sorted((k for k in held if k != old), key=lambda k: (-held[k], -k)):
        if sum(v for n, v in needs.items() if n not in out) <= free:
            break
        out.append(k)
        free += held[k]
    return out
