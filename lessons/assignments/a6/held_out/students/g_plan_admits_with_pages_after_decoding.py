"""Admits only into what the running ones leave: their needs are taken off the free pages first."""

FAILS = "a6.q5.plan"
MISTAKE = "plan_admits_into_what_is_left"


def schedule(state):
    size, running = state["page_size"], state["running"]
    first = rows(running, state["max_rows"], state["chunk"])
    wanted = sum(pages(r["fed"] + first.get(r["id"], 0), size) - pages(r["fed"], size) for r in running)
    new = admit(state["waiting"], running, state["free"] - wanted, state["max_running"], size)
    active = running + [r for r in state["waiting"] if r["id"] in new]
    plan = rows(active, state["max_rows"], state["chunk"])
    held = {r["id"]: pages(r["fed"], size) for r in active}
    needs = {r["id"]: pages(r["fed"] + plan.get(r["id"], 0), size) - held[r["id"]] for r in active}
    out = preempt(held, needs, state["free"])
    return {"admitted": new, "preempted": out, "rows": {i: n for i, n in plan.items() if i not in out}}
