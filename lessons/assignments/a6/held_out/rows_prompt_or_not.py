"""Asks only whether the prompt is fed."""

FAILS = "a6.q3.again"
MISTAKE = "rows_decode_after_the_prompt"


def rows(running, max_rows, chunk):
    plan, budget, first = {}, max_rows, True
    order = sorted(running, key=lambda one: one["id"])
    for request in order:
        if request["fed"] >= request["prompt"] - 1:
            plan[request["id"]] = 1 + request["gamma"]
            budget -= 1 + request["gamma"]
    for request in order:
        todo = request["prompt"] - 1 - request["fed"]
        if todo > 0:
            share = min(todo, chunk, budget)
            share = max(share, 1) if first else share
            first = False
            if share > 0:
                plan[request["id"]] = share
                budget -= share
    return plan
