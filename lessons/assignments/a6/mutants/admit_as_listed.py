"""The waiting list is in any order: whoever came first has the smallest id. One that was set back stands behind younger ones."""

FAILS = "a6.q2.order"


def admit(waiting, running, free, max_running, size):
    admitted = []
    for request in waiting:
        needed = pages(request["prompt"] + request["made"], size)
        others = len(running) + len(admitted)
        if others >= max_running or needed + (others > 0) > free:
            break
        admitted.append(request["id"])
        free -= needed
    return admitted
