"""Somebody small overtakes one that does not fit. While small ones keep coming, it never gets its pages: stop at the first that does not fit."""

FAILS = "a6.q2.memory"


def admit(waiting, running, free, max_running, size):
    admitted = []
    for request in sorted(waiting, key=lambda request: request["id"]):
        needed = pages(request["prompt"] + request["made"], size)
        others = len(running) + len(admitted)
        if others >= max_running or needed + (others > 0) > free:
            continue
        admitted.append(request["id"])
        free -= needed
    return admitted
