"""Rows of decoding do not count for the budget."""

FAILS = "a6.q3.budget"
MISTAKE = "rows_decoding_is_free"


def rows(running, max_rows, chunk):
    lack = {r["id"]: r["prompt"] + r["made"] - r["fed"] for r in running}
    plan = {r["id"]: r["gamma"] + 1 for r in running if lack[r["id"]] == 1}
    left = max_rows
    for i, k in enumerate(sorted(k for k in lack if lack[k] > 1)):
        n = min(chunk, lack[k] - 1, left)
        n = max(1, n) if i == 0 else n
        if n < 1:
            break
        plan[k] = n
        left -= n
    return plan
