"""Gives the oldest prompt its one row out of the budget only: none if the decoding have used it up."""

FAILS = "a6.q3.starved"
MISTAKE = "rows_starving_prompt"


def rows(running, max_rows, chunk):
    out, left, feeding = {}, max_rows, []
    for r in running:
        missing = r["prompt"] + r["made"] - r["fed"]
        if missing == 1:
            out[r["id"]] = 1 + r["gamma"]
            left -= 1 + r["gamma"]
        else:
            feeding.append((r["id"], missing - 1))
    for number, missing in sorted(feeding):
        if left <= 0:
            break
        out[number] = min(missing, chunk, left)
        left -= out[number]
    return out
