"""Feeds the whole text that is missing."""

FAILS = "a6.q3.budget"
MISTAKE = "rows_whole_prompt"


def rows(running, max_rows, chunk):
    missing = {r["id"]: r["prompt"] + r["made"] - r["fed"] for r in running}
    decode = [r for r in running if missing[r["id"]] == 1]
    feed = sorted((r["id"] for r in running if missing[r["id"]] > 1))
    plan = {r["id"]: r["gamma"] + 1 for r in decode}
    left = max_rows - sum(plan.values())
    for k, i in enumerate(feed):
        n = min(missing[i], chunk, left)
        if n <= 0:
            if k == 0:
                plan[i] = 1
            break
        plan[i] = n
        left -= n
    return plan
