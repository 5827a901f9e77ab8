"""Forgets what was made."""

FAILS = "a6.q2.memory"
MISTAKE = "admit_by_the_prompt_alone"


def admit(waiting, running, free, max_running, size):
    chosen = []
    for request in sorted(waiting, key=lambda one: one["id"])[: max(0, max_running - len(running))]:
        need = -(-request["prompt"] // size)
        if need + (1 if running or chosen else 0) > free:
            break
        free -= need
        chosen.append(request["id"])
    return chosen
