"""One spare page, not one for everyone who runs."""

FAILS = "a6.q2.memory"


def admit(waiting, running, free, max_running, size):
    admitted = []
    for request in sorted(waiting, key=lambda request: request["id"]):
        needed = pages(request["prompt"] + request["made"], size)
        others = len(running) + len(admitted)
        if others >= max_running or needed + others > free:
            break
        admitted.append(request["id"])
        free -= needed
    return admitted
