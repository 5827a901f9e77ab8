"""Returns after the first."""

FAILS = "a6.q2.order"
MISTAKE = "admit_one_at_a_time"


def admit(waiting, running, free, max_running, size):
    if not waiting or len(running) == max_running:
        return []
    request = min(waiting, key=lambda one: one["id"])
    need = pages(request["prompt"] + request["made"], size) + (1 if running else 0)
    return [request["id"]] if need <= free else []
