"""Takes them as they stand."""

FAILS = "a6.q2.order"
MISTAKE = "admit_as_listed"


def admit(waiting, running, free, max_running, size):
    chosen, places = [], max_running - len(running)
    while waiting[len(chosen) :] and len(chosen) < places:
        request = waiting[len(chosen)]
        need = pages(request["prompt"] + request["made"], size)
        alone = not running and not chosen
        if need + (0 if alone else 1) > free:
            return chosen
        free = free - need
        chosen.append(request["id"])
    return chosen
