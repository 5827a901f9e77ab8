"""The *oldest* prompt gets a row where none is left, not the first one of the list."""

FAILS = "a6.q3.starved"


def rows(running, max_rows, chunk):
    lacking = {request["id"]: request["prompt"] + request["made"] - request["fed"] for request in running}
    plan = {request["id"]: request["gamma"] + 1 for request in running if lacking[request["id"]] == 1}
    left = max_rows - sum(plan.values())
    for place, number in enumerate(sorted(number for number in lacking if number not in plan)):
        count = min(chunk, lacking[number] - 1, left)
        if number == next(one for one in lacking if one not in plan or one == number):
            count = max(1, count)
        if count < 1:
            break
        plan[number] = count
        left -= count
    return plan
