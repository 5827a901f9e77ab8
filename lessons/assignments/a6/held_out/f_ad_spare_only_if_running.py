"""Alone means nobody runs yet, others admitted now do not count."""

FAILS = "a6.q2.memory"
MISTAKE = "admit_spare_page_for_old_ones_only"


def admit(waiting, running, free, max_running, size):
    out = []
    for r in sorted(waiting, key=lambda r: r["id"]):
        n = pages(r["prompt"] + r["made"], size)
        if len(running) + len(out) >= max_running or n + (len(running) > 0) > free:
            break
        out.append(r["id"])
        free -= n
    return out
