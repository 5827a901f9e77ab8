"""Takes those that are set back off the list of the admitted, as if they had never come."""

FAILS = "a6.q5.plan"


def schedule(state):
    size = state["page_size"]
    new = admit(state["waiting"], state["running"], state["free"], state["max_running"], size)
    active = state["running"] + [r for r in state["waiting"] if r["id"] in new]
    plan = rows(active, state["max_rows"], state["chunk"])
    held = {r["id"]: pages(r["fed"], size) for r in active}
    needs = {r["id"]: pages(r["fed"] + plan.get(r["id"], 0), size) - held[r["id"]] for r in active}
    gone = preempt(held, needs, state["free"])
    return {
        "admitted": [i for i in new if i not in gone],
        "preempted": [i for i in gone if i not in new],
        "rows": {i: n for i, n in plan.items() if i not in gone},
    }
