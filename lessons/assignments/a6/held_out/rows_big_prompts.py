"""Forgets the chunk."""

FAILS = "a6.q3.budget"
MISTAKE = "rows_without_a_chunk"


def rows(running, max_rows, chunk):
    plan, budget, first = {}, max_rows, True
    order = sorted(running, key=lambda one: one["id"])
    for request in order:
        if request["prompt"] + request["made"] - request["fed"] == 1:
            plan[request["id"]] = 1 + request["gamma"]
            budget -= 1 + request["gamma"]
    for request in order:
        todo = request["prompt"] + request["made"] - request["fed"] - 1
        if todo > 0:
            share = max(min(todo, budget), int(first))
            first = False
            if share > 0:
                plan[request["id"]] = share
                budget -= share
    return plan
