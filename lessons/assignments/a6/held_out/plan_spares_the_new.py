"""Never sets back those that were just admitted."""

FAILS = "a6.q5.plan"
MISTAKE = ""


def schedule(state):
    size = state["page_size"]
    new = admit(state["waiting"], state["running"], state["free"], state["max_running"], size)
    everyone = {request["id"]: request for request in state["running"]}
    everyone.update((request["id"], request) for request in state["waiting"] if request["id"] in new)
    given = rows(list(everyone.values()), state["max_rows"], state["chunk"])
    held = {number: pages(request["fed"], size) for number, request in everyone.items() if number not in new}
    needs = {}
    for number, count in given.items():
        needs[number] = pages(everyone[number]["fed"] + count, size) - held.get(number, 0)
    gone = preempt(held, needs, state["free"])
    for number in gone:
        given.pop(number, None)
    return {"admitted": new, "preempted": gone, "rows": given}
