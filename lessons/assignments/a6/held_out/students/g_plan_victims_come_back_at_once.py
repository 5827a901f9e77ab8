"""Admits those that were set back again in the same step if there is room."""

FAILS = "a6.q5.plan"
MISTAKE = "plan_memory_first"


def schedule(state):
    size = state["page_size"]
    new = admit(state["waiting"], state["running"], state["free"], state["max_running"], size)
    active = state["running"] + [r for r in state["waiting"] if r["id"] in new]
    plan = rows(active, state["max_rows"], state["chunk"])
    held = {r["id"]: pages(r["fed"], size) for r in active}
    needs = {r["id"]: pages(r["fed"] + plan.get(r["id"], 0), size) - held[r["id"]] for r in active}
    out = preempt(held, needs, state["free"])
    out = [i for i in out if i not in new]
    return {"admitted": new, "preempted": out, "rows": {i: n for i, n in plan.items() if i not in out}}
