"""Keeps all that fit."""

FAILS = "a6.q2.memory"
MISTAKE = "admit_overtaken"


def admit(waiting, running, free, max_running, size):
    chosen = []
    for request in sorted(waiting, key=lambda one: one["id"]):
        need = pages(request["prompt"] + request["made"], size)
        spare = 1 if running or chosen else 0
        if len(running) + len(chosen) < max_running and need + spare <= free:
            chosen.append(request["id"])
            free -= need
    return chosen
