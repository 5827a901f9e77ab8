"""Return which are admitted, not how many."""

FAILS = "a6.q2.order"


def admit(waiting, running, free, max_running, size):
    admitted = []
    for request in sorted(waiting, key=lambda request: request["id"]):
        needed = pages(request["prompt"] + request["made"], size)
        others = len(running) + len(admitted)
        if others >= max_running or needed + (others > 0) > free:
            break
        admitted.append(request["id"])
        free -= needed
    return len(admitted)
