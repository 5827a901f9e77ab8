"""Skips what does not fit."""

FAILS = "a6.q2.memory"
MISTAKE = "admit_overtaken"


def admit(waiting, running, free, max_running, size):
    out = []
    for r in sorted(waiting, key=lambda r: r["id"]):
        n = pages(r["prompt"] + r["made"], size)
        k = len(running) + len(out)
        if k < max_running and n + (1 if k else 0) <= free:
            out.append(r["id"])
            free -= n
    return out
