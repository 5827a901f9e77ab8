"""Does not sort the prompts."""

FAILS = "a6.q3.budget"
MISTAKE = "rows_prompts_as_listed"


def rows(running, max_rows, chunk):
    plan, budget, first = {}, max_rows, True
    for request in running:
        if request["prompt"] + request["made"] - request["fed"] == 1:
            plan[request["id"]] = 1 + request["gamma"]
            budget -= 1 + request["gamma"]
    for request in running:
        todo = request["prompt"] + request["made"] - request["fed"] - 1
        if not todo:
            continue
        share = min(todo, chunk, budget)
        share = max(share, 1) if first else share
        first = False
        if share > 0:
            plan[request["id"]] = share
            budget -= share
    return plan
