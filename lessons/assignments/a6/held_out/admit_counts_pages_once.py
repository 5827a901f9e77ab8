"""Never lowers what is free."""

FAILS = "a6.q2.memory"
MISTAKE = "admit_one_after_another_for_nothing"


def admit(waiting, running, free, max_running, size):
    order = sorted(waiting, key=lambda one: one["id"])[: max(0, max_running - len(running))]
    chosen = []
    for request in order:
        spare = 1 if running or chosen else 0
        if pages(request["prompt"] + request["made"], size) + spare > free:
            break
        chosen.append(request["id"])
    return chosen
