"""One that was set back also needs pages for the tokens it had made."""

FAILS = "a6.q2.memory"


def admit(waiting, running, free, max_running, size):
    admitted = []
    for request in sorted(waiting, key=lambda request: request["id"]):
        needed = pages(request["prompt"], size)
        others = len(running) + len(admitted)
        if others >= max_running or needed + (others > 0) > free:
            break
        admitted.append(request["id"])
        free -= needed
    return admitted
