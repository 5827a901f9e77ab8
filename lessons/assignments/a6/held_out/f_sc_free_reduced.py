"""What the admitted will need is taken from free as well."""

FAILS = "a6.q5.plan"
MISTAKE = "plan_admitted_take_their_pages_at_once"


def schedule(state):
    size, free = state["page_size"], state["free"]
    ad = admit(state["waiting"], state["running"], free, state["max_running"], size)
    new = [r for r in state["waiting"] if r["id"] in ad]
    run = state["running"] + new
    plan = rows(run, state["max_rows"], state["chunk"])
    held = {r["id"]: pages(r["fed"], size) for r in run}
    needs = {r["id"]: pages(r["fed"] + plan.get(r["id"], 0), size) - held[r["id"]] for r in run}
    out = preempt(held, needs, free - sum(pages(r["prompt"] + r["made"], size) for r in new))
    return {"admitted": ad, "preempted": out, "rows": {k: v for k, v in plan.items() if k not in out}}
