"""Gives every prompt a row, however little is left."""

FAILS = "a6.q3.starved"
MISTAKE = "rows_every_prompt_gets_one"


def rows(running, max_rows, chunk):
    plan = {}
    used = 0
    waiting = []
    for r in running:
        rest = r["prompt"] + r["made"] - r["fed"]
        if rest > 1:
            waiting.append((r["id"], rest - 1))
            continue
        plan[r["id"]] = r["gamma"] + 1
        used += plan[r["id"]]
    for i, rest in sorted(waiting):
        n = max(1, min(rest, chunk, max_rows - used))
        plan[i] = n
        used += n
    return plan
