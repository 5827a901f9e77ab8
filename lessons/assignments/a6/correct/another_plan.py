"""A step through dictionaries."""


def schedule(state):
    size = state["page_size"]
    new = admit(state["waiting"], state["running"], state["free"], state["max_running"], size)
    everyone = {request["id"]: request for request in state["running"]}
    everyone.update((request["id"], request) for request in state["waiting"] if request["id"] in new)
    given = rows(list(everyone.values()), state["max_rows"], state["chunk"])
    held = {number: pages(request["fed"], size) for number, request in everyone.items()}
    needs = {}
    for number, count in given.items():
        needs[number] = pages(everyone[number]["fed"] + count, size) - held[number]
    gone = preempt(held, needs, state["free"])
    for number in gone:
        given.pop(number, None)
    return {"admitted": new, "preempted": gone, "rows": given}
