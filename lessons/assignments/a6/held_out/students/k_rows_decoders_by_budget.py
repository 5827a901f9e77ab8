"""Lets those that decode take part only while the budget lasts."""

FAILS = "a6.q3.budget"
MISTAKE = "rows_decoding_within_the_budget"


def rows(running, max_rows, chunk):
    plan, left = {}, max_rows
    by_age = sorted(running, key=lambda r: r["id"])
    for r in by_age:
        if r["prompt"] + r["made"] - r["fed"] == 1 and r["gamma"] + 1 <= left:
            plan[r["id"]] = r["gamma"] + 1
            left -= r["gamma"] + 1
    oldest = True
    for r in by_age:
        lack = r["prompt"] + r["made"] - r["fed"] - 1
        if lack == 0:
            continue
        n = max(min(lack, chunk, left), 1 if oldest else 0)
        oldest = False
        if n > 0:
            plan[r["id"]] = n
            left -= n
    return plan
