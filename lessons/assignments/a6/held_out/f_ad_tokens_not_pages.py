"""Tokens compared with pages times size, without rounding."""

FAILS = "a6.q2.order"
MISTAKE = ""


def admit(waiting, running, free, max_running, size):
    out, slots = [], free * size
    for r in sorted(waiting, key=lambda r: r["id"]):
        n = r["prompt"] + r["made"]
        k = len(running) + len(out)
        if k >= max_running or n + size * (k > 0) > slots:
            break
        out.append(r["id"])
        slots -= n
    return out
