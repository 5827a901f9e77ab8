"""Pages for the rows alone."""

FAILS = "a6.q5.plan"
MISTAKE = "plan_pages_for_the_rows_alone"


def schedule(state):
    size, free = state["page_size"], state["free"]
    ad = admit(state["waiting"], state["running"], free, state["max_running"], size)
    run = state["running"] + [r for r in state["waiting"] if r["id"] in ad]
    plan = rows(run, state["max_rows"], state["chunk"])
    held = {r["id"]: pages(r["fed"], size) for r in run}
    needs = {r["id"]: pages(plan.get(r["id"], 0), size) for r in run}
    out = preempt(held, needs, free)
    return {"admitted": ad, "preempted": out, "rows": {k: v for k, v in plan.items() if k not in out}}
