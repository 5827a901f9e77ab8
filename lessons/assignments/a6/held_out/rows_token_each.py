"""Gives one row to whoever decodes."""

FAILS = "a6.q3.budget"
MISTAKE = "rows_without_drafts"


def rows(running, max_rows, chunk):
    plan = {}
    for request in running:
        if request["fed"] + 1 == request["prompt"] + request["made"]:
            plan[request["id"]] = 1
    budget = max_rows - len(plan)
    first = True
    for request in sorted(running, key=lambda one: one["id"]):
        todo = request["prompt"] + request["made"] - 1 - request["fed"]
        if todo > 0:
            share = max(min(todo, chunk, budget), 1 if first else 0)
            first = False
            if share > 0:
                plan[request["id"]] = share
                budget -= share
    return plan
