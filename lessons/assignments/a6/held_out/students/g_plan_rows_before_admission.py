"""Gives rows to those that ran before, and admits afterwards."""

FAILS = "a6.q5.plan"
MISTAKE = "plan_admitted_wait_a_step"


def schedule(state):
    size, running = state["page_size"], state["running"]
    given = rows(running, state["max_rows"], state["chunk"])
    held = {r["id"]: pages(r["fed"], size) for r in running}
    needs = {r["id"]: pages(r["fed"] + given.get(r["id"], 0), size) - pages(r["fed"], size) for r in running}
    new = admit(state["waiting"], running, state["free"], state["max_running"], size)
    out = preempt(held, needs, state["free"])
    return {"admitted": new, "preempted": out, "rows": {i: given[i] for i in given if i not in out}}
