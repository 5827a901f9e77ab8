"""The spare page is taken from the free ones."""

FAILS = "a6.q2.memory"
MISTAKE = "admit_spare_page_taken"


def admit(waiting, running, free, max_running, size):
    out = []
    for r in sorted(waiting, key=lambda r: r["id"]):
        k = len(running) + len(out)
        n = pages(r["prompt"] + r["made"], size) + (k > 0)
        if k >= max_running or n > free:
            break
        out.append(r["id"])
        free -= n
    return out
