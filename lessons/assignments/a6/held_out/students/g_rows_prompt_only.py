"""Says that a request decodes as soon as its prompt is in the cache."""

FAILS = "a6.q3.again"
MISTAKE = "rows_decode_with_the_prompt_fed"


def rows(running, max_rows, chunk):
    plan = {}
    for r in running:
        if r["fed"] >= r["prompt"] - 1 and (r["made"] == 0 or r["fed"] >= r["prompt"]):
            plan[r["id"]] = r["gamma"] + 1
    left = max_rows - sum(plan.values())
    rest = sorted((r for r in running if r["id"] not in plan), key=lambda r: r["id"])
    for k, r in enumerate(rest):
        n = min(chunk, left, r["prompt"] + r["made"] - r["fed"] - 1)
        if k == 0 and n < 1:
            n = 1
        if n < 1:
            break
        plan[r["id"]] = n
        left -= n
    return plan
