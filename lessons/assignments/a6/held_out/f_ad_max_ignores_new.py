"""Max_running compared with those that run already."""

FAILS = "a6.q2.order"
MISTAKE = "admit_forgets_whom_it_admits"


def admit(waiting, running, free, max_running, size):
    out = []
    for r in sorted(waiting, key=lambda r: r["id"]):
        n = pages(r["prompt"] + r["made"], size)
        if len(running) >= max_running or n + (len(running) + len(out) > 0) > free:
            break
        out.append(r["id"])
        free -= n
    return out
