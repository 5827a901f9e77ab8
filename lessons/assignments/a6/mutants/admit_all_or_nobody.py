"""You admit all that wait or nobody; as long as the next one fits, it is admitted."""

FAILS = "a6.q2.memory"


def admit(waiting, running, free, max_running, size):
    needed = sum(pages(request["prompt"] + request["made"], size) for request in waiting)
    fits = needed + bool(running or len(waiting) > 1) <= free and len(running) + len(waiting) <= max_running
    return sorted(request["id"] for request in waiting) if fits else []
