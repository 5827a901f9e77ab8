"""You make room before you admit; first requests are admitted, then rows are given, then memory is looked at."""

FAILS = "a6.q5.plan"


def schedule(state):
    size, free = state["page_size"], state["free"]
    running = state["running"]
    plan = rows(running, state["max_rows"], state["chunk"])
    held = {request["id"]: pages(request["fed"], size) for request in running}
    needs = {
        request["id"]: pages(request["fed"] + plan.get(request["id"], 0), size) - held[request["id"]]
        for request in running
    }
    preempted = preempt(held, needs, free)
    kept = [request for request in running if request["id"] not in preempted]
    free += sum(held[number] for number in preempted)
    free -= sum(count for number, count in needs.items() if number not in preempted)
    admitted = admit(state["waiting"], kept, free, state["max_running"], size)
    kept = kept + [request for request in state["waiting"] if request["id"] in admitted]
    return {"admitted": admitted, "preempted": preempted, "rows": rows(kept, state["max_rows"], state["chunk"])}
