"""Asks for pages for the rows alone, though the last page may have room."""

FAILS = "a6.q5.plan"
MISTAKE = "plan_pages_for_the_rows_alone"


def schedule(state):
    size = state["page_size"]
    new = admit(state["waiting"], state["running"], state["free"], state["max_running"], size)
    everyone = state["running"] + [r for r in state["waiting"] if r["id"] in new]
    plan = rows(everyone, state["max_rows"], state["chunk"])
    held = {r["id"]: pages(r["fed"], size) for r in everyone}
    needs = {number: pages(count, size) for number, count in plan.items()}
    back = preempt(held, needs, state["free"])
    return {"admitted": new, "preempted": back, "rows": {k: n for k, n in plan.items() if k not in back}}
