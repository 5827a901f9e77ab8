"""Those that are admitted together share what is free: take their pages off, one after the other."""

FAILS = "a6.q2.memory"


def admit(waiting, running, free, max_running, size):
    admitted = []
    for request in sorted(waiting, key=lambda request: request["id"]):
        needed = pages(request["prompt"] + request["made"], size)
        others = len(running) + len(admitted)
        if others >= max_running or needed + (others > 0) > free:
            break
        admitted.append(request["id"])
    return admitted
