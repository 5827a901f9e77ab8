"""Whole chunks only."""

FAILS = "a6.q3.budget"
MISTAKE = "rows_whole_chunks_only"


def rows(running, max_rows, chunk):
    lack = {r["id"]: r["prompt"] + r["made"] - r["fed"] for r in running}
    plan = {r["id"]: r["gamma"] + 1 for r in running if lack[r["id"]] == 1}
    left = max_rows - sum(plan.values())
    for i, k in enumerate(sorted(k for k in lack if lack[k] > 1)):
        n = min(chunk, lack[k] - 1)
        if n > left:
            if i:
                break
            n = max(1, left)
        plan[k] = n
        left -= n
    return plan
