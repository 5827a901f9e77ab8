"""Lets pages run out at once."""

FAILS = "a6.q2.memory"
MISTAKE = "admit_without_the_spare_page"


def admit(waiting, running, free, max_running, size):
    chosen = []
    for request in sorted(waiting, key=lambda one: one["id"])[: max(0, max_running - len(running))]:
        free -= pages(request["prompt"] + request["made"], size)
        if free < 0:
            break
        chosen.append(request["id"])
    return chosen
