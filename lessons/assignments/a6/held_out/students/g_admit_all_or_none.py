"""Admits all that wait, or nobody if they do not all fit."""

FAILS = "a6.q2.memory"
MISTAKE = "admit_all_or_nobody"


def admit(waiting, running, free, max_running, size):
    order = sorted(w["id"] for w in waiting)
    need = sum(pages(w["prompt"] + w["made"], size) for w in waiting)
    spare = 1 if running or len(waiting) > 1 else 0
    if len(running) + len(waiting) <= max_running and need + spare <= free:
        return order
    return []
