"""Gives the row that is owed to the prompt that lacks least."""

FAILS = "a6.q3.starved"
MISTAKE = "rows_shortest_prompt_gets_one"


def rows(running, max_rows, chunk):
    lacks = {r["id"]: r["prompt"] + r["made"] - r["fed"] for r in running}
    result = {r["id"]: r["gamma"] + 1 for r in running if lacks[r["id"]] == 1}
    budget = max_rows - sum(result.values())
    prompts = sorted(i for i in lacks if i not in result)
    if budget <= 0 and prompts:
        result[min(prompts, key=lacks.get)] = 1
        return result
    for i in prompts:
        n = min(chunk, lacks[i] - 1, budget)
        if n <= 0:
            break
        result[i] = n
        budget -= n
    return result
