"""Lets those that have made most go first."""

FAILS = "a6.q2.order"


def admit(waiting, running, free, max_running, size):
    chosen = []
    queue = sorted(waiting, key=lambda r: (-r["made"], r["id"]))
    while queue and len(running) + len(chosen) < max_running:
        nxt = queue.pop(0)
        need = pages(nxt["prompt"] + nxt["made"], size)
        if need + (1 if running or chosen else 0) > free:
            break
        free -= need
        chosen.append(nxt["id"])
    return chosen
