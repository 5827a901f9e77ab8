"""After it was set back, a request is fed its prompt and the tokens it had made, before it decodes."""

FAILS = "a6.q3.again"


def rows(running, max_rows, chunk):
    lacking = {request["id"]: max(1, request["prompt"] - request["fed"]) for request in running}
    plan = {request["id"]: request["gamma"] + 1 for request in running if lacking[request["id"]] == 1}
    left = max_rows - sum(plan.values())
    for place, number in enumerate(sorted(number for number in lacking if number not in plan)):
        count = min(chunk, lacking[number] - 1, left)
        if place == 0:
            count = max(1, count)
        if count < 1:
            break
        plan[number] = count
        left -= count
    return plan
