"""Only the prompt is fed, not what was made."""

FAILS = "a6.q3.budget"
MISTAKE = "rows_decode_after_the_prompt"


def rows(running, max_rows, chunk):
    lack = {r["id"]: r["prompt"] + r["made"] - r["fed"] for r in running}
    plan = {r["id"]: r["gamma"] + 1 for r in running if lack[r["id"]] == 1}
    left = max_rows - sum(plan.values())
    for i, r in enumerate(sorted((r for r in running if lack[r["id"]] > 1), key=lambda r: r["id"])):
        n = min(chunk, max(1, r["prompt"] - r["fed"] - 1), left)
        n = max(1, n) if i == 0 else n
        if n < 1:
            break
        plan[r["id"]] = n
        left -= n
    return plan
