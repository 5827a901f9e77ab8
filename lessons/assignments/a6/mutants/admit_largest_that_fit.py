"""You look for those that fit. The oldest goes first, and if it does not fit, nobody does."""

FAILS = "a6.q2.memory"


def admit(waiting, running, free, max_running, size):
    admitted = []
    for request in sorted(
        waiting, key=lambda request: (pages(request["prompt"] + request["made"], size) > free, request["id"])
    ):
        needed = pages(request["prompt"] + request["made"], size)
        others = len(running) + len(admitted)
        if others >= max_running or needed + (others > 0) > free:
            break
        admitted.append(request["id"])
        free -= needed
    return admitted
