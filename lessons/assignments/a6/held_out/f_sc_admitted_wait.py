"""The admitted get no rows."""

FAILS = "a6.q5.plan"
MISTAKE = "plan_admitted_wait_a_step"


def schedule(state):
    size, free = state["page_size"], state["free"]
    ad = admit(state["waiting"], state["running"], free, state["max_running"], size)
    plan = rows(state["running"], state["max_rows"], state["chunk"])
    held = {r["id"]: pages(r["fed"], size) for r in state["running"]}
    needs = {r["id"]: pages(r["fed"] + plan.get(r["id"], 0), size) - held[r["id"]] for r in state["running"]}
    out = preempt(held, needs, free)
    return {"admitted": ad, "preempted": out, "rows": {k: v for k, v in plan.items() if k not in out}}
