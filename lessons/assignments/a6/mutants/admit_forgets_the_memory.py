"""You look at places only; the pages must be free, too."""

FAILS = "a6.q2.memory"


def admit(waiting, running, free, max_running, size):
    admitted = []
    for request in sorted(waiting, key=lambda request: request["id"]):
        needed = pages(request["prompt"] + request["made"], size)
        others = len(running) + len(admitted)
        if others >= max_running:
            break
        admitted.append(request["id"])
        free -= needed
    return admitted
