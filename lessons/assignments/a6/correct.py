"""Other right ways to write A6; each gets full points."""


# %% a_class
# A class keeps the account of a step.
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


# %% another_plan
# A step through dictionaries.
def schedule(state):
    size = state["page_size"]
    new = admit(state["waiting"], state["running"], state["free"], state["max_running"], size)
    everyone = {request["id"]: request for request in state["running"]}
    everyone.update((request["id"], request) for request in state["waiting"] if request["id"] in new)
    given = rows(list(everyone.values()), state["max_rows"], state["chunk"])
    held = {number: pages(request["fed"], size) for number, request in everyone.items()}
    needs = {}
    for number, count in given.items():
        needs[number] = pages(everyone[number]["fed"] + count, size) - held[number]
    gone = preempt(held, needs, state["free"])
    for number in gone:
        given.pop(number, None)
    return {"admitted": new, "preempted": gone, "rows": given}


# %% counts_down
# Making room by counting what is missing.
def preempt(held, needs, free):
    missing = sum(needs.get(number, 0) for number in held) - free
    gone = []
    for number in sorted(held)[:0:-1]:
        if missing <= 0:
            return gone
        missing -= held[number] + needs.get(number, 0)
        gone.append(number)
    return gone


# %% heaps
# Queues as heaps.
import itertools


def admit(waiting, running, free, max_running, size):
    order = sorted((request["id"], pages(request["prompt"] + request["made"], size)) for request in waiting)
    ends = list(itertools.accumulate(need for _, need in order))
    fits = [len(running) + i < max_running and end + (len(running) + i > 0) <= free for i, end in enumerate(ends)]
    return [number for (number, _), _ in zip(order, itertools.takewhile(bool, fits), strict=False)]


# %% rates_in_a_list
# Rates in a list, the first of the largest.
def best_gamma(alphas, seconds, draft_s, largest):
    rates = []
    for gamma in range(largest + 1):
        count = len(alphas) * (gamma + 1)
        if count <= len(seconds):
            tokens = sum(sum(alpha**k for k in range(gamma + 1)) for alpha in alphas)
            rates.append(tokens / (seconds[count - 1] + gamma * draft_s))
    return rates.index(max(rates))


# %% recursive
# Admission and making room by recursion.
def admit(waiting, running, free, max_running, size):
    if not waiting or len(running) >= max_running:
        return []
    first = min(waiting, key=lambda request: request["id"])
    need = pages(first["prompt"] + first["made"], size)
    if need + (1 if running else 0) > free:
        return []
    rest = [request for request in waiting if request["id"] != first["id"]]
    return [first["id"], *admit(rest, [*running, first], free - need, max_running, size)]


def preempt(held, needs, free):
    if len(held) == 1 or sum(needs.values()) <= free:
        return []
    youngest = max(held)
    others = {number: count for number, count in held.items() if number != youngest}
    still = {number: count for number, count in needs.items() if number != youngest}
    return [youngest, *preempt(others, still, free + held[youngest])]


# %% with_numpy
# Draft lengths and pages with NumPy.
import numpy as np


def pages(slots, size):
    return np.int64(np.ceil(slots / size))


def best_gamma(alphas, seconds, draft_s, largest):
    most = min(largest, len(seconds) // len(alphas) - 1)
    gammas = np.arange(most + 1)
    survive = np.cumsum(np.asarray(alphas)[:, None] ** gammas, axis=1).sum(axis=0)
    times = np.asarray(seconds)[len(alphas) * (gammas + 1) - 1] + gammas * draft_s
    return int(np.argmax(survive / times))
