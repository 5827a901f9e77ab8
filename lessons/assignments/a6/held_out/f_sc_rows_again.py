"""Rows are given anew after somebody was set back."""

FAILS = "a6.q5.plan"
MISTAKE = "plan_rows_given_again"


def schedule(state):
    size, free = state["page_size"], state["free"]
    ad = admit(state["waiting"], state["running"], free, state["max_running"], size)
    run = state["running"] + [r for r in state["waiting"] if r["id"] in ad]
    plan = rows(run, state["max_rows"], state["chunk"])
    held = {r["id"]: pages(r["fed"], size) for r in run}
    needs = {r["id"]: pages(r["fed"] + plan.get(r["id"], 0), size) - held[r["id"]] for r in run}
    out = preempt(held, needs, free)
    return {
        "admitted": ad,
        "preempted": out,
        "rows": rows([r for r in run if r["id"] not in out], state["max_rows"], state["chunk"]),
    }
