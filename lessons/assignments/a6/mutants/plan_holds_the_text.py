"""You take a request for the owner of the pages of its whole text; it holds those of what is fed, and needs more as
it goes on.
"""

FAILS = "a6.q5.plan"


def schedule(state):
    size, free = state["page_size"], state["free"]
    admitted = admit(state["waiting"], state["running"], free, state["max_running"], size)
    running = state["running"] + [request for request in state["waiting"] if request["id"] in admitted]
    plan = rows(running, state["max_rows"], state["chunk"])
    held = {request["id"]: pages(request["prompt"] + request["made"], size) for request in running}
    needs = {
        request["id"]: max(0, pages(request["fed"] + plan.get(request["id"], 0), size) - held[request["id"]])
        for request in running
    }
    preempted = preempt(held, needs, free)
    return {
        "admitted": admitted,
        "preempted": preempted,
        "rows": {number: count for number, count in plan.items() if number not in preempted},
    }
