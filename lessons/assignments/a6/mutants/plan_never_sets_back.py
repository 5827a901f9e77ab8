"""Somebody has to make room where pages run out."""

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
    preempted = []
    return {
        "admitted": admitted,
        "preempted": preempted,
        "rows": {number: count for number, count in plan.items() if number not in preempted},
    }
