"""Counts only those that ran before when it looks at memory."""

FAILS = "a6.q5.plan"
MISTAKE = "plan_memory_first"


def schedule(state):
    size = state["page_size"]
    new = admit(state["waiting"], state["running"], state["free"], state["max_running"], size)
    taking_part = state["running"] + [r for r in state["waiting"] if r["id"] in new]
    plan = rows(taking_part, state["max_rows"], state["chunk"])
    held, needs = {}, {}
    for r in state["running"]:
        held[r["id"]] = pages(r["fed"], size)
        needs[r["id"]] = pages(r["fed"] + plan.get(r["id"], 0), size) - held[r["id"]]
    gone = preempt(held, needs, state["free"]) if held else []
    return {"admitted": new, "preempted": gone, "rows": {i: n for i, n in plan.items() if i not in gone}}
