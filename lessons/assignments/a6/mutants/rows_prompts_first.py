"""Whoever decodes comes first: a long prompt must not make the others wait."""

FAILS = "a6.q3.budget"


def rows(running, max_rows, chunk):
    plan, left = {}, max_rows
    for request in sorted(running, key=lambda request: request["id"]):
        lacks = request["prompt"] + request["made"] - request["fed"]
        count = min(chunk, lacks - 1, left)
        if lacks > 1 and count > 0:
            plan[request["id"]] = count
            left -= count
    for request in running:
        lacks = request["prompt"] + request["made"] - request["fed"]
        if lacks == 1 and request["gamma"] + 1 <= left:
            plan[request["id"]] = request["gamma"] + 1
            left -= request["gamma"] + 1
    return plan
