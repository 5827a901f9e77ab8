"""Counts places from nothing."""

FAILS = "a6.q2.order"
MISTAKE = "admit_forgets_who_runs"


def admit(waiting, running, free, max_running, size):
    chosen = []
    for request in sorted(waiting, key=lambda one: one["id"])[:max_running]:
        need = pages(request["prompt"] + request["made"], size)
        if need + (1 if running or chosen else 0) > free:
            break
        free -= need
        chosen.append(request["id"])
    return chosen
