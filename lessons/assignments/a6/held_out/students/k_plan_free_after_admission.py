"""Takes the whole text's pages of the admitted off what is free before it looks at memory."""

FAILS = "a6.q5.plan"
MISTAKE = "plan_admitted_take_their_pages_at_once"


def schedule(state):
    size, free = state["page_size"], state["free"]
    new = admit(state["waiting"], state["running"], free, state["max_running"], size)
    joined = [r for r in state["waiting"] if r["id"] in new]
    free -= sum(pages(r["prompt"] + r["made"], size) for r in joined)
    active = state["running"] + joined
    plan = rows(active, state["max_rows"], state["chunk"])
    held = {r["id"]: pages(r["fed"], size) for r in active}
    needs = {r["id"]: pages(r["fed"] + plan.get(r["id"], 0), size) - held[r["id"]] for r in active}
    gone = preempt(held, needs, free)
    return {"admitted": new, "preempted": gone, "rows": {i: n for i, n in plan.items() if i not in gone}}
