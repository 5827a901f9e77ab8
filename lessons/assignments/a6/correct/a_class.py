"""A class keeps the account of a step."""


class Budget:
    def __init__(self, left):
        self.left = left

    def take(self, wanted, least=0):
        given = max(least, min(wanted, self.left))
        self.left -= given
        return given


def rows(running, max_rows, chunk):
    budget, plan = Budget(max_rows), {}
    order = sorted(
        running, key=lambda request: (request["prompt"] + request["made"] - request["fed"] > 1, request["id"])
    )
    oldest = True
    for request in order:
        todo = request["prompt"] + request["made"] - request["fed"] - 1
        if not todo:
            plan[request["id"]] = budget.take(0, request["gamma"] + 1)
            continue
        given = budget.take(min(todo, chunk), int(oldest))
        oldest = False
        if given > 0:
            plan[request["id"]] = given
    return plan
