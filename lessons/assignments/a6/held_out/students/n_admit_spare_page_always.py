"""Wants the one more page of a lonely request too."""

FAILS = "a6.q2.memory"
MISTAKE = "admit_spare_page_when_alone"


def admit(waiting, running, free, max_running, size):
    out = []
    for r in sorted(waiting, key=lambda r: r["id"]):
        n = pages(r["prompt"] + r["made"], size)
        if len(running) + len(out) == max_running or free < n + 1:
            return out
        out.append(r["id"])
        free -= n
    return out
