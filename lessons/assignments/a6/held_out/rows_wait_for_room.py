"""Stops at zero."""

FAILS = "a6.q3.starved"
MISTAKE = "rows_starving_prompt"


def rows(running, max_rows, chunk):
    plan, budget = {}, max_rows
    order = sorted(running, key=lambda one: one["id"])
    for request in order:
        if request["prompt"] + request["made"] - request["fed"] == 1:
            plan[request["id"]] = 1 + request["gamma"]
            budget -= 1 + request["gamma"]
    for request in order:
        todo = request["prompt"] + request["made"] - request["fed"] - 1
        if todo > 0 and budget > 0:
            share = min(todo, chunk, budget)
            plan[request["id"]] = share
            budget -= share
    return plan
