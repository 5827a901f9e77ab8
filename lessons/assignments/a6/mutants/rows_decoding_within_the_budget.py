"""Whoever decodes takes part, whatever the budget is; you leave some out."""

FAILS = "a6.q3.starved"


def rows(running, max_rows, chunk):
    lacking = {request["id"]: request["prompt"] + request["made"] - request["fed"] for request in running}
    plan, left = {}, max_rows
    for request in sorted(running, key=lambda request: request["id"]):
        if lacking[request["id"]] == 1 and request["gamma"] + 1 <= left:
            plan[request["id"]] = request["gamma"] + 1
            left -= request["gamma"] + 1
    for place, number in enumerate(sorted(number for number in lacking if lacking[number] > 1)):
        count = min(chunk, lacking[number] - 1, left)
        if place == 0:
            count = max(1, count)
        if count < 1:
            break
        plan[number] = count
        left -= count
    return plan
