"""No spare page."""

FAILS = "a6.q2.memory"
MISTAKE = "admit_without_the_spare_page"


def admit(waiting, running, free, max_running, size):
    out = []
    for r in sorted(waiting, key=lambda r: r["id"]):
        n = pages(r["prompt"] + r["made"], size)
        if len(running) + len(out) >= max_running or n > free:
            break
        out.append(r["id"])
        free -= n
    return out
