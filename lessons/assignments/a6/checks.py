"""A6's checks: exact, all of them; and a driver that runs a scheduler through whole loads.

The driver has no model. It keeps the account of a pool of pages, feeds what a plan says, and lets a case tell how many
drafts of each step are accepted. So the same scheduler always gives the same run.
"""

import copy

from minispec.course.grading import Check, with_drawn

MAX_STEPS = 120


def request(number, prompt, made=0, fed=0, gamma=0):
    return {"id": number, "prompt": prompt, "made": made, "fed": fed, "gamma": gamma}


def decoding(number, prompt, made, gamma=0):
    return request(number, prompt, made, prompt + made - 1, gamma)


def check(check_id, function, cases, **rest):
    """Return a check that calls a function with the entries of a case, in the order of the first case."""
    names = tuple(cases[0])

    def observe(student, case):
        return getattr(student, function)(*(case[name] for name in names))

    return Check(check_id, observe, cases=cases, **rest)


# Q1


SLOTS = [
    {"slots": slots, "size": size} for slots, size in ((0, 16), (1, 16), (15, 16), (16, 16), (17, 16), (33, 8), (5, 1))
] + [{"slots": size + 1, "size": size} for size in (128, 4096, 1 << 20)]


def hidden_slots(rng):
    """Small numbers, and large ones with a rest of 1: what is added before rounding is too little somewhere."""
    small = [{"slots": int(rng.integers(0, 500)), "size": int(rng.integers(2, 40))} for _ in range(3)]
    size = int(rng.integers(1000, 1 << 20))
    return [*small, {"slots": size * int(rng.integers(1, 9)) + 1, "size": size}]


# Q2


def admission(waiting, running, free, max_running=8, size=16):
    return {"waiting": waiting, "running": running, "free": free, "max_running": max_running, "size": size}


ORDERS = [
    admission([request(3, 5)], [], 99),
    admission([request(3, 5), request(4, 5)], [], 99),
    admission([request(4, 5), request(3, 50)], [decoding(1, 5, 3)], 99),
    admission([request(9, 5), request(2, 5, 7), request(6, 5)], [], 99, 2),
    admission([request(9, 5), request(8, 5), request(6, 5)], [decoding(1, 5, 3), decoding(4, 5, 3)], 99, 3),
    admission([request(6, 5)], [decoding(1, 5, 3), decoding(4, 5, 3)], 99, 2),
    admission([], [decoding(1, 5, 3)], 99),
    admission([request(6, 40), request(7, 5), request(10, 20), request(11, 30)], [], 99, 3),
]
MEMORIES = [
    admission([request(3, 32)], [], 2),
    admission([request(3, 33)], [], 2),
    admission([request(3, 32)], [decoding(1, 5, 3)], 2),
    admission([request(3, 32)], [decoding(1, 5, 3)], 3),
    admission([request(3, 60), request(4, 5)], [decoding(1, 5, 3)], 3),
    admission([request(3, 20), request(4, 20), request(5, 20)], [], 5),
    admission([request(3, 20), request(4, 20), request(5, 5)], [], 4),
    admission([request(3, 20), request(4, 60), request(5, 5)], [decoding(1, 5, 3)], 5),
    admission([request(7, 30, 20), request(9, 5)], [decoding(1, 5, 3)], 4),
    admission([request(7, 30, 20), request(9, 5)], [decoding(1, 5, 3)], 5),
    admission([request(3, 16), request(4, 16), request(5, 16), request(6, 16)], [], 4),
    admission([request(3, 6), request(4, 6), request(5, 6)], [decoding(1, 5, 3)], 6, size=4),
    admission([request(3, 6)], [], 0),
    admission([request(3, 16), request(4, 16)], [decoding(1, 5, 3), decoding(2, 5, 3)], 3),
    admission([request(3, 16), request(4, 16)], [decoding(1, 5, 3), decoding(2, 5, 3)], 2),
]


def drawn_requests(rng, numbers, low=1, high=60):
    found = []
    for number in numbers:
        made = int(rng.integers(0, 30)) * int(rng.integers(0, 2))
        found.append(request(int(number), int(rng.integers(low, high)), made))
    return found


def drawn_admission(rng, free):
    numbers = rng.permutation(12)
    running = [decoding(int(number), 5, 3) for number in numbers[: rng.integers(0, 3)]]
    waiting = drawn_requests(rng, numbers[3 : rng.integers(5, 9)])
    return admission(waiting, running, free, int(rng.integers(2, 6)), int(rng.integers(4, 20)))


def hidden_orders(rng):
    return [drawn_admission(rng, 999) for _ in range(6)]


def hidden_memories(rng):
    return [drawn_admission(rng, int(rng.integers(1, 14))) for _ in range(10)]


def search_admissions():
    from hypothesis import strategies as st

    def build(prompts, running, free, places, order):
        waiting = [request(i + 1, prompt) for i, prompt in enumerate(prompts)]
        return admission(waiting[::-1] if order else waiting, [decoding(0, 2, 1)] * running, free, places, 2)

    return st.builds(
        build,
        st.lists(st.integers(1, 5), min_size=1, max_size=3),
        st.integers(0, 1),
        st.integers(0, 5),
        st.integers(1, 3),
        st.booleans(),
    )


# Q3


def load(running, max_rows, chunk=64):
    return {"running": running, "max_rows": max_rows, "chunk": chunk}


BUDGETS = [
    load([decoding(0, 9, 3)], 64),
    load([decoding(0, 9, 3, gamma=4)], 64),
    load([request(0, 10)], 64),
    load([request(0, 100)], 256),
    load([request(0, 100, 0, 64)], 256),
    load([request(0, 65)], 256),
    load([request(1, 100), decoding(0, 9, 3, gamma=4)], 64),
    load([request(2, 100), request(1, 100, 0, 64), decoding(0, 9, 3, gamma=4)], 64),
    load([request(5, 30), request(2, 30), request(9, 30), decoding(7, 9, 3, gamma=1)], 40),
    load([request(5, 90), request(2, 90)], 200, 32),
    load([request(3, 1, gamma=2), request(4, 2, gamma=2)], 64),
    load([decoding(0, 9, 3, gamma=2), decoding(4, 9, 1), decoding(2, 1, 5, gamma=3)], 64),
    load([request(0, 21), request(1, 21), request(2, 21)], 40, 64),
    load([request(0, 20), request(1, 90), request(2, 90)], 100, 16),
]
STARVED = [
    load([request(1, 100), decoding(0, 9, 3, gamma=7)], 8),
    load([request(1, 100), decoding(0, 9, 3, gamma=9)], 4),
    load([request(4, 100), request(2, 100), decoding(0, 9, 3, gamma=7)], 8),
    load([request(1, 100), request(2, 100), decoding(0, 9, 3, gamma=6), decoding(3, 9, 3, gamma=6)], 5),
    load([request(1, 100), request(2, 100), decoding(0, 9, 3, gamma=6)], 8),
    load([decoding(1, 5, 2, gamma=3), decoding(0, 9, 3, gamma=6)], 4),
    load([request(1, 2), request(2, 9), decoding(0, 9, 3)], 1),
]
AGAIN = [
    load([request(0, 10, 20)], 64),
    load([request(0, 10, 20, 10)], 64),
    load([request(0, 10, 20, 9)], 64),
    load([request(0, 10, 20, 28)], 64),
    load([decoding(0, 10, 20)], 64),
    load([request(0, 50, 40), request(1, 100, 5, 64), decoding(2, 4, 9, gamma=2)], 80, 32),
    load([request(3, 1, 7)], 64),
]


def drawn_load(rng, *, again, full):
    running = []
    for number in rng.permutation(9)[: rng.integers(2, 6)]:
        prompt, gamma = int(rng.integers(2, 90)), int(rng.integers(0, 5))
        made = int(rng.integers(1, 30)) if again else 0
        kind = int(rng.integers(0, 3))
        if kind == 0:
            running.append(decoding(int(number), prompt, int(rng.integers(1, 20)), gamma))
        else:
            running.append(request(int(number), prompt, made, int(rng.integers(0, prompt + made)) * (kind - 1), gamma))
    return load(running, int(rng.integers(1, 6) if full else rng.integers(20, 120)), int(rng.integers(8, 65)))


def hidden_loads(*, again, full):
    return lambda rng: [drawn_load(rng, again=again, full=full) for _ in range(8)]


def search_loads():
    from hypothesis import strategies as st

    def one(number, prompt, made, lacks, gamma):
        return request(number, prompt, made, max(0, prompt + made - lacks), gamma)

    numbers = st.permutations([0, 1, 2])
    some = st.lists(
        st.tuples(st.integers(1, 6), st.integers(0, 3), st.integers(1, 6), st.integers(0, 2)), min_size=1, max_size=3
    )
    return st.builds(
        lambda order, told, budget, chunk: load(
            [one(number, *each) for number, each in zip(order, told, strict=False)], budget, chunk
        ),
        numbers,
        some,
        st.integers(1, 8),
        st.integers(1, 4),
    )


# Q4


def pressure(held, needs, free):
    return {"held": held, "needs": needs, "free": free}


PRESSURES = [
    pressure({3: 5, 8: 2, 5: 4}, {3: 1, 8: 1}, 2),
    pressure({3: 5, 8: 2, 5: 4}, {3: 1, 5: 1}, 1),
    pressure({3: 5, 8: 2, 5: 4}, {3: 1, 8: 1}, 1),
    pressure({3: 5, 8: 2, 5: 4}, {3: 1, 8: 1, 5: 1}, 2),
    pressure({1: 5, 2: 0, 3: 0, 4: 9}, {1: 2, 2: 3, 3: 3}, 1),
    pressure({1: 5, 2: 1, 3: 1, 4: 1}, {1: 4}, 1),
    pressure({1: 5, 2: 1, 3: 1, 4: 1}, {1: 4}, 0),
    pressure({1: 5, 2: 1, 3: 1, 4: 1}, {1: 1, 2: 1, 3: 1, 4: 3}, 2),
    pressure({6: 3}, {6: 1}, 0),
    pressure({6: 3, 2: 1}, {2: 9}, 1),
    pressure({6: 3, 2: 1}, {}, 0),
    pressure({9: 1, 10: 1, 11: 1}, {9: 1, 10: 1, 11: 1}, 0),
    pressure({4: 2, 7: 0, 9: 0}, {4: 1, 7: 5, 9: 1}, 3),
    pressure({4: 2, 7: 0, 9: 0}, {4: 1, 7: 2, 9: 1}, 3),
]


def hidden_pressures(rng):
    found = []
    for _ in range(10):
        numbers = [int(number) for number in rng.permutation(12)[: rng.integers(2, 6)]]
        held = {number: int(rng.integers(0, 5)) for number in numbers}
        needs = {number: int(rng.integers(1, 4)) for number in numbers if rng.integers(0, 3)}
        found.append(pressure(held, needs, int(rng.integers(0, 6))))
    return found


def search_pressures():
    from hypothesis import strategies as st

    some = st.dictionaries(st.integers(0, 3), st.integers(0, 3), min_size=1, max_size=4)
    return st.builds(
        lambda held, needs, free: pressure(held, {k: n for k, n in needs.items() if k in held and n}, free),
        some,
        some,
        st.integers(0, 4),
    )


# Q5


def state(waiting, running, free, max_running=8, max_rows=256, chunk=64, page_size=16):
    return {
        "waiting": waiting, "running": running, "free": free, "max_running": max_running, "max_rows": max_rows,
        "chunk": chunk, "page_size": page_size,
    }  # fmt: skip


STATES = [
    {"state": told}
    for told in (
        state([], [decoding(0, 10, 3, gamma=2)], 4),
        state([request(1, 20)], [decoding(0, 10, 3)], 9),
        state([request(2, 20), request(1, 30)], [], 9),
        state([request(1, 200), request(2, 100)], [decoding(0, 10, 3)], 40, max_rows=80),
        state([], [decoding(0, 10, 6), decoding(1, 13, 3)], 0),
        state([], [decoding(0, 10, 7), decoding(1, 13, 4), decoding(2, 20, 2)], 0),
        state([], [decoding(0, 10, 6, gamma=4), decoding(1, 13, 3, gamma=4)], 1),
        state([request(5, 40)], [decoding(0, 16, 1), decoding(1, 13, 4)], 4),
        state([request(3, 10), request(2, 90, 12)], [decoding(0, 10, 3)], 7, chunk=32),
        state([request(1, 1, gamma=3)], [], 1),
        state([request(2, 40), request(1, 40)], [decoding(0, 30, 3, gamma=3)], 9, max_running=2),
        state([request(3, 16)], [decoding(0, 16, 1, gamma=20), decoding(1, 15, 2)], 3),
        state([request(2, 40)], [decoding(0, 10, 7), decoding(5, 90, 3)], 0),
        state([], [decoding(0, 10, 7), request(1, 100, 0, 32), decoding(7, 10, 6, gamma=6)], 1, max_rows=20, chunk=32),
        state([], [decoding(0, 10, 3), request(1, 100, 0, 30), request(2, 100, 0, 32)], 0, max_rows=3),
        state([request(2, 20)], [request(0, 60, 0, 32), decoding(1, 10, 3, gamma=1)], 5, max_rows=20, chunk=16),
        state([request(2, 20)], [decoding(1, 10, 3, gamma=4)], 9, max_rows=4),
    )
]


def hidden_states(rng):
    found = []
    for _ in range(10):
        numbers = [int(number) for number in rng.permutation(12)]
        size = int(rng.integers(3, 9))
        running = [
            decoding(number, int(rng.integers(2, 30)), int(rng.integers(1, 9)), int(rng.integers(0, 4)))
            for number in numbers[: rng.integers(1, 4)]
        ]
        if rng.integers(0, 2):
            running.append(request(numbers[4], 60, 0, int(rng.integers(1, 40)), 2))
        waiting = drawn_requests(rng, numbers[5 : rng.integers(5, 9)], 2, 40)
        found.append(
            {"state": state(waiting, running, int(rng.integers(0, 16)), int(rng.integers(2, 7)), int(rng.integers(1, 60)),
                            int(rng.integers(8, 33)), size)}
        )  # fmt: skip
    return found


def search_states():
    from hypothesis import strategies as st

    def build(made, waits, free, gamma):
        running = [decoding(i, 2, count, gamma) for i, count in enumerate(made)]
        return {"state": state([request(9, prompt) for prompt in waits], running, free, 3, 8, 4, 2)}

    return st.builds(
        build,
        st.lists(st.integers(1, 3), min_size=1, max_size=2),
        st.lists(st.integers(1, 5), max_size=1),
        st.integers(0, 5),
        st.integers(0, 2),
    )


def run_of(requests, pages, *, max_running=4, max_rows=40, chunk=16, page_size=4, accepted=(0,)):
    """``requests`` are (arrival, prompt, tokens, gamma); ``accepted`` says, step by step and again from its beginning,
    how many drafts the target accepts, as far as they were drafted."""
    return {
        "requests": [list(each) for each in requests], "pages": pages, "max_running": max_running, "max_rows": max_rows,
        "chunk": chunk, "page_size": page_size, "accepted": list(accepted),
    }  # fmt: skip


RUNS = [
    run_of([(0, 5, 3, 0)], 9),
    run_of([(0, 5, 9, 0), (0, 5, 2, 0), (0, 5, 4, 0), (0, 5, 3, 0)], 99, max_running=2),
    run_of([(0, 50, 3, 0), (0, 5, 9, 0)], 99),
    run_of([(0, 12, 9, 0), (0, 12, 9, 0), (1, 12, 9, 0)], 12),
    run_of([(0, 4, 12, 0), (0, 4, 12, 0), (0, 4, 12, 0)], 7),
    run_of([(0, 4, 12, 2), (0, 4, 12, 2), (2, 4, 12, 2), (3, 9, 4, 0)], 8, accepted=(2, 0, 1)),
    run_of([(0, 3, 6, 0), (4, 30, 2, 0), (5, 3, 2, 0), (6, 3, 2, 0)], 10),
    run_of([(0, 40, 4, 0), (0, 40, 4, 0), (1, 6, 8, 3)], 40, max_rows=12, accepted=(3, 1)),
    run_of([(0, 6, 20, 0), (0, 30, 2, 0), (1, 30, 2, 0), (2, 6, 5, 0)], 11, max_rows=9),
    run_of([(0, 8, 8, 1), (9, 8, 8, 1), (30, 8, 2, 0)], 6, accepted=(1, 0)),
]


def show_run(case):
    told = "; ".join(
        f"{i}: step {at}, prompt {p}, {n} tokens, gamma {g}" for i, (at, p, n, g) in enumerate(case["requests"])
    )
    rest = ", ".join(f"{key} {case[key]}" for key in ("pages", "max_running", "max_rows", "chunk", "page_size"))
    return f"a run of the requests {{{told}}}; {rest}"


def hold(slots, size):
    return -(-slots // size)


def fault(plan, told):
    """Return what is wrong with a plan, whatever it was meant for; "" if nothing is."""
    if (
        not isinstance(plan, dict)
        or set(plan) != {"admitted", "preempted", "rows"}
        or not isinstance(plan["rows"], dict)
    ):
        return "a plan is a dictionary with admitted, preempted and rows, which is one itself"
    waiting = {each["id"] for each in told["waiting"]}
    running = {each["id"]: each for each in [*told["running"], *told["waiting"]]}
    if any(number not in waiting for number in plan["admitted"]):
        return "somebody is admitted who does not wait"
    if len(told["running"]) + len(plan["admitted"]) > told["max_running"]:
        return "more requests run than may"
    left = {number for number in running if number not in waiting} | set(plan["admitted"])
    if any(number not in left for number in plan["preempted"]):
        return "somebody is set back who does not run"
    left -= set(plan["preempted"])
    size, needed = told["page_size"], 0
    for number, count in plan["rows"].items():
        if number not in left:
            return "rows are given to somebody who does not run"
        lacks = running[number]["prompt"] + running[number]["made"] - running[number]["fed"]
        if (
            isinstance(count, bool)
            or not isinstance(count, int)
            or not 1 <= count <= max(lacks - 1, running[number]["gamma"] + 1)
        ):
            return f"request {number} is given {count!r} rows"
        needed += hold(running[number]["fed"] + count, size) - hold(running[number]["fed"], size)
    back = sum(hold(running[number]["fed"], size) for number in plan["preempted"])
    return "more pages are needed than there are" if needed > told["free"] + back else ""


def simulate(schedule, case):
    """Run a scheduler through a load; return when each request got its first token and its last, and what went wrong."""
    size = case["page_size"]
    arrivals, wanted = [each[0] for each in case["requests"]], [each[2] for each in case["requests"]]
    every = [request(i, prompt, gamma=gamma) for i, (_, prompt, _, gamma) in enumerate(case["requests"])]
    log = {"broken": "", "began": {}, "ended": {}, "set back": [], "most rows": 0}
    waiting, running, drawn = [], [], 0
    for step in range(MAX_STEPS):
        waiting += [each for each, arrival in zip(every, arrivals, strict=True) if arrival == step]
        free = case["pages"] - sum(hold(each["fed"], size) for each in running)
        settings = {name: case[name] for name in ("max_running", "max_rows", "chunk", "page_size")}
        told = {"waiting": waiting, "running": running, "free": free, **settings}
        plan = schedule(copy.deepcopy(told))
        log["broken"] = fault(plan, told)
        if not log["broken"] and not plan["rows"] and (waiting or running):
            log["broken"] = "nobody goes on"
        if log["broken"]:
            return log | {"broken": f"step {step}: {log['broken']}"}
        running += [each for each in waiting if each["id"] in plan["admitted"]]
        for number in plan["preempted"]:
            log["set back"].append([step, number])
            every[number]["fed"] = 0
        waiting = [each for each in waiting if each["id"] not in plan["admitted"]]
        waiting += [each for each in running if each["id"] in plan["preempted"]]
        running = [each for each in running if each["id"] not in plan["preempted"]]
        log["most rows"] = max(log["most rows"], sum(plan["rows"].values()))
        for each in sorted(running, key=lambda each: each["id"]):
            number, count = each["id"], plan["rows"].get(each["id"], 0)
            if each["prompt"] + each["made"] - each["fed"] > 1 or not count:
                each["fed"] += count
                continue
            kept = min(count - 1, case["accepted"][drawn % len(case["accepted"])], wanted[number] - each["made"] - 1)
            drawn += 1
            log["began"].setdefault(number, step)
            each["fed"] += kept + 1
            each["made"] += kept + 1
            if each["made"] == wanted[number]:
                log["ended"][number] = step
        running = [each for each in running if each["id"] not in log["ended"]]
        if len(log["ended"]) == len(every):
            return log
    return log | {"broken": f"after {MAX_STEPS} steps not all have ended"}


def observe_run(student, case):
    return simulate(student.schedule, case)


def hidden_runs(rng):
    found = []
    for _ in range(4):
        requests = [
            (int(rng.integers(0, 9)), int(rng.integers(1, 24)), int(rng.integers(1, 9)), int(rng.integers(0, 3)))
            for _ in range(5)
        ]
        accepted = rng.integers(0, 3, 5).tolist()
        found.append(run_of(requests, int(rng.integers(10, 16)), max_rows=int(rng.integers(6, 40)), accepted=accepted))
    return found


def search_runs():
    from hypothesis import strategies as st

    one = st.tuples(st.integers(0, 1), st.integers(1, 6), st.integers(1, 4), st.integers(0, 1))
    return st.builds(
        lambda requests, pages: run_of(requests, pages, max_running=2, max_rows=4, chunk=4),
        st.lists(one, min_size=1, max_size=3),
        st.integers(4, 6),
    )


# Q6


def pace(alphas, seconds, draft_s, largest=8):
    return {"alphas": alphas, "seconds": seconds, "draft_s": draft_s, "largest": largest}


def ridge(rows, count=80):
    """Seconds of forwards over 1, 2, ... rows: flat up to the ridge, then by the row."""
    return [max(1.0, m / rows) for m in range(1, count + 1)]


PACES = [
    pace([0.8], ridge(300), 0.1),
    pace([0.8] * 8, ridge(20), 0.1),
    pace([0.8] * 8, ridge(4), 0.1),
    pace([0.8, 0.2], ridge(4), 0.1),
    pace([0.9, 0.5, 0.1], ridge(8), 0.05),
    pace([0.0], ridge(300), 0.0),
    pace([1.0], ridge(300), 0.1),
    pace([1.0], ridge(300), 0.1, 3),
    pace([0.95] * 4, ridge(300, 18), 0.02),
    pace([0.95] * 9, ridge(300, 9), 0.02),
    pace([0.7], [1.0, 1.3, 1.4, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7], 0.1),
    pace([0.6, 0.7], [1.0, 1.1, 1.2, 1.3, 2.0, 2.1, 2.2, 2.3, 2.4, 2.5], 0.3),
    pace([0.99] * 2, ridge(6), 0.01),
    pace([0.5], ridge(300), 0.6),
    pace([0.2], ridge(300), 0.3),
    pace([0.9, 0.1, 0.1, 0.1], ridge(300), 0.35),
    pace([0.95], [1.0, 2.0, 2.0, 2.0, 2.0], 0.1),
]


def hidden_paces(rng):
    return [
        pace(
            rng.uniform(0.1, 0.95, int(rng.integers(1, 7))).round(3).tolist(),
            ridge(float(rng.uniform(2, 30)), int(rng.integers(30, 60))),
            round(float(rng.uniform(0.02, 0.4)), 3),
            int(rng.integers(3, 9)),
        )
        for _ in range(10)
    ]


CHECKS = [
    check("a6.q1.pages", "pages", with_drawn(SLOTS, hidden_slots), hidden=hidden_slots),
    check("a6.q2.order", "admit", with_drawn(ORDERS, hidden_orders), hidden=hidden_orders, search=search_admissions),
    check(
        "a6.q2.memory", "admit", with_drawn(MEMORIES, hidden_memories), hidden=hidden_memories, search=search_admissions
    ),
    check(
        "a6.q3.budget",
        "rows",
        with_drawn(BUDGETS, hidden_loads(again=False, full=False)),
        hidden=hidden_loads(again=False, full=False),
        search=search_loads,
    ),
    check(
        "a6.q3.starved",
        "rows",
        with_drawn(STARVED, hidden_loads(again=False, full=True)),
        hidden=hidden_loads(again=False, full=True),
        search=search_loads,
    ),
    check(
        "a6.q3.again",
        "rows",
        with_drawn(AGAIN, hidden_loads(again=True, full=False)),
        hidden=hidden_loads(again=True, full=False),
        search=search_loads,
    ),
    check(
        "a6.q4.preempt",
        "preempt",
        with_drawn(PRESSURES, hidden_pressures),
        hidden=hidden_pressures,
        search=search_pressures,
    ),
    check("a6.q5.plan", "schedule", with_drawn(STATES, hidden_states), hidden=hidden_states, search=search_states),
    Check(
        "a6.q5.run",
        observe_run,
        cases=with_drawn(RUNS, hidden_runs),
        hidden=hidden_runs,
        search=search_runs,
        show=show_run,
    ),
    check("a6.q6.gamma", "best_gamma", with_drawn(PACES, hidden_paces), hidden=hidden_paces),
]
