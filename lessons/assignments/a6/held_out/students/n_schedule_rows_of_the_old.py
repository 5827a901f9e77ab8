"""Gives rows only to those that ran before."""

FAILS = "a6.q5.plan"
MISTAKE = "plan_admitted_wait_a_step"


def schedule(state):
    size = state["page_size"]
    new = admit(state["waiting"], state["running"], state["free"], state["max_running"], size)
    plan = rows(state["running"], state["max_rows"], state["chunk"])
    everyone = state["running"] + [r for r in state["waiting"] if r["id"] in new]
    held = {r["id"]: pages(r["fed"], size) for r in everyone}
    needs = {r["id"]: pages(r["fed"] + plan.get(r["id"], 0), size) - held[r["id"]] for r in everyone}
    back = preempt(held, needs, state["free"])
    return {"admitted": new, "preempted": back, "rows": {k: n for k, n in plan.items() if k not in back}}
