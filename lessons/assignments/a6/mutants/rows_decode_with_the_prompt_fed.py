"""You say a request decodes once its prompt is fed; one that was set back has to be fed the tokens it had made, too."""

FAILS = "a6.q3.again"


def rows(running, max_rows, chunk):
    lacking = {request["id"]: request["prompt"] + request["made"] - request["fed"] for request in running}
    decoding = [one["id"] for one in running if one["fed"] >= one["prompt"] - (one["made"] == 0)]
    plan = {request["id"]: request["gamma"] + 1 for request in running if request["id"] in decoding}
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
