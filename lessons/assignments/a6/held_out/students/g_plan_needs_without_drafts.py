"""Counts a page only for the newest token of those that decode."""

FAILS = "a6.q5.plan"
MISTAKE = "plan_drafts_need_no_memory"


def schedule(state):
    size = state["page_size"]
    new = admit(state["waiting"], state["running"], state["free"], state["max_running"], size)
    everyone = [*state["running"], *(r for r in state["waiting"] if r["id"] in new)]
    given = rows(everyone, state["max_rows"], state["chunk"])
    held, needs = {}, {}
    for r in everyone:
        n = given.get(r["id"], 0)
        if r["prompt"] + r["made"] - r["fed"] == 1:
            n = min(n, 1)
        held[r["id"]] = pages(r["fed"], size)
        needs[r["id"]] = pages(r["fed"] + n, size) - held[r["id"]]
    back = preempt(held, needs, state["free"])
    for i in back:
        given.pop(i, None)
    return {"admitted": new, "preempted": back, "rows": given}
