"""Nobody is owed a row."""

FAILS = "a6.q3.starved"
MISTAKE = "rows_starving_prompt"


def rows(running, max_rows, chunk):
    lack = {r["id"]: r["prompt"] + r["made"] - r["fed"] for r in running}
    plan = {r["id"]: r["gamma"] + 1 for r in running if lack[r["id"]] == 1}
    left = max_rows - sum(plan.values())
    for k in sorted(k for k in lack if lack[k] > 1):
        n = min(chunk, lack[k] - 1, left)
        if n < 1:
            break
        plan[k] = n
        left -= n
    return plan
