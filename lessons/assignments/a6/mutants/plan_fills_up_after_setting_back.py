"""Nobody is admitted into the pages that were just given back, before the next step."""

FAILS = "a6.q5.plan"


def schedule(state):
    size, free = state["page_size"], state["free"]
    admitted = admit(state["waiting"], state["running"], free, state["max_running"], size)
    running = state["running"] + [request for request in state["waiting"] if request["id"] in admitted]
    plan = rows(running, state["max_rows"], state["chunk"])
    held = {request["id"]: pages(request["fed"], size) for request in running}
    needs = {
        request["id"]: pages(request["fed"] + plan.get(request["id"], 0), size) - held[request["id"]]
        for request in running
    }
    preempted = preempt(held, needs, free)
    free += sum(held[number] for number in preempted) - sum(
        count for number, count in needs.items() if number not in preempted
    )
    left = [request for request in state["waiting"] if request["id"] not in admitted]
    left += [request | {"fed": 0} for request in running if request["id"] in preempted]
    staying = [request for request in running if request["id"] not in preempted]
    admitted = admitted + (admit(left, staying, free, state["max_running"], size) if preempted else [])
    return {
        "admitted": admitted,
        "preempted": preempted,
        "rows": {number: count for number, count in plan.items() if number not in preempted},
    }
