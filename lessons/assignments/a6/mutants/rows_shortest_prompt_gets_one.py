"""The *oldest* prompt gets a row where none is left, not the one that lacks least."""

FAILS = "a6.q3.starved"


def rows(running, max_rows, chunk):
    lacking = {request["id"]: request["prompt"] + request["made"] - request["fed"] for request in running}
    plan = {request["id"]: request["gamma"] + 1 for request in running if lacking[request["id"]] == 1}
    left = max_rows - sum(plan.values())
    prompts = sorted(number for number in lacking if number not in plan)
    if left < 1 and prompts:
        return plan | {min(prompts, key=lambda number: lacking[number]): 1}
    for number in prompts:
        if left > 0:
            plan[number] = min(chunk, lacking[number] - 1, left)
            left -= plan[number]
    return plan
