"""Skips who does not fit and goes on."""

FAILS = "a6.q2.memory"
MISTAKE = "admit_overtaken"


def admit(waiting, running, free, max_running, size):
    out = []
    for r in sorted(waiting, key=lambda r: r["id"]):
        n = pages(r["prompt"] + r["made"], size)
        alone = not running and not out
        if len(running) + len(out) < max_running and n + (0 if alone else 1) <= free:
            out.append(r["id"])
            free -= n
    return out
