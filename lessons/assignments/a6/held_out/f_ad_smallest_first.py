"""Smallest first."""

FAILS = "a6.q2.order"
MISTAKE = "admit_shortest_first"


def admit(waiting, running, free, max_running, size):
    out = []
    for r in sorted(waiting, key=lambda r: (r["prompt"] + r["made"], r["id"])):
        n = pages(r["prompt"] + r["made"], size)
        k = len(running) + len(out)
        if k >= max_running or n + (k > 0) > free:
            break
        out.append(r["id"])
        free -= n
    return out
