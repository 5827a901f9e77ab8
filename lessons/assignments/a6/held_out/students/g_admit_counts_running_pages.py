"""Takes the pages of those that run off the free ones."""

FAILS = "a6.q2.memory"
MISTAKE = "admit_subtracts_what_is_held"


def admit(waiting, running, free, max_running, size):
    left = free - sum(pages(r["fed"], size) for r in running)
    chosen = []
    for w in sorted(waiting, key=lambda w: w["id"]):
        need = pages(w["prompt"] + w["made"], size)
        alone = not running and not chosen
        if len(running) + len(chosen) >= max_running or left < need + (0 if alone else 1):
            break
        chosen.append(w["id"])
        left -= need
    return chosen
