"""Feeds the newest token of the text too."""

FAILS = "a6.q3.budget"
MISTAKE = "rows_whole_prompt"


def rows(running, max_rows, chunk):
    plan, feeding = {}, []
    for r in running:
        left = r["prompt"] + r["made"] - r["fed"]
        if left == 1:
            plan[r["id"]] = 1 + r["gamma"]
        else:
            feeding.append((r["id"], left))
    budget = max_rows - sum(plan.values())
    for i, (number, left) in enumerate(sorted(feeding)):
        n = min(chunk, left, budget)
        if i == 0 and n < 1:
            n = 1
        if n <= 0:
            break
        plan[number] = n
        budget -= n
    return plan
