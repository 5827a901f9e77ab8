"""Takes the waiting list in the order it comes in."""

FAILS = "a6.q2.order"
MISTAKE = "admit_as_listed"


def admit(waiting, running, free, max_running, size):
    ids = []
    for request in waiting:
        if len(ids) + len(running) == max_running:
            return ids
        take = pages(request["prompt"] + request["made"], size)
        extra = 1 if ids or running else 0
        if take + extra > free:
            return ids
        free -= take
        ids.append(request["id"])
    return ids
