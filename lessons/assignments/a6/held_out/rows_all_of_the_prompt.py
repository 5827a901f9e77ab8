"""Feeds the newest token with the prompt."""

FAILS = "a6.q3.budget"
MISTAKE = "rows_whole_prompt"


def rows(running, max_rows, chunk):
    plan, budget, first = {}, max_rows, True
    todo = {}
    for request in running:
        lacks = request["prompt"] + request["made"] - request["fed"]
        if lacks == 1:
            plan[request["id"]] = 1 + request["gamma"]
            budget -= 1 + request["gamma"]
        else:
            todo[request["id"]] = lacks
    for number in sorted(todo):
        share = min(todo[number], chunk, budget)
        if first:
            share = max(share, 1)
        first = False
        if share <= 0:
            break
        plan[number] = share
        budget -= share
    return plan
