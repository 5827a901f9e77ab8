"""The newest token of a text is fed when the request decodes: a prompt is fed up to the one before."""

FAILS = "a6.q3.budget"


def rows(running, max_rows, chunk):
    lacking = {request["id"]: request["prompt"] + request["made"] - request["fed"] for request in running}
    plan = {request["id"]: request["gamma"] + 1 for request in running if lacking[request["id"]] == 1}
    left = max_rows - sum(plan.values())
    for place, number in enumerate(sorted(number for number in lacking if number not in plan)):
        count = min(chunk, lacking[number], left)
        if place == 0:
            count = max(1, count)
        if count < 1:
            break
        plan[number] = count
        left -= count
    return plan
