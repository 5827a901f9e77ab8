"""Gives the oldest nothing where the budget is used up."""

FAILS = "a6.q3.starved"
MISTAKE = "rows_starving_prompt"


def rows(running, max_rows, chunk):
    plan, feeding = {}, []
    for r in running:
        left = r["prompt"] + r["made"] - r["fed"]
        if left == 1:
            plan[r["id"]] = 1 + r["gamma"]
        else:
            feeding.append((r["id"], left - 1))
    budget = max_rows - sum(plan.values())
    for number, left in sorted(feeding):
        n = min(chunk, left, budget)
        if n > 0:
            plan[number] = n
            budget -= n
    return plan
