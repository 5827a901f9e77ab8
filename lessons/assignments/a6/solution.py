"""A6: a continuous-batching scheduler.

It knows numbers and no models. A *request* is a dictionary:

    id      its place in the order of arrival: 0 came first
    prompt  tokens of its prompt
    made    tokens it has generated
    fed     tokens whose keys and values are in the cache
    gamma   tokens it drafts in a step

Its text has `prompt + made` tokens. It *decodes* when all of them but the newest are fed; before that, it is *being fed*:
its prompt, and after it was set back also the tokens it had made. No function changes what it is given.
"""


def pages(slots, size):
    """Q1. Return how many pages of `size` slots hold `slots` slots.

    Examples
    --------
    >>> pages(0, 16), pages(16, 16), pages(17, 16)
    (0, 1, 2)
    """
    # BEGIN SOLUTION
    return -(-slots // size)
    # END SOLUTION


def admit(waiting, running, free, max_running, size):
    """Q2. Return the ids of the requests that get a place now, in the order of their arrival.

    First come, first served: as long as the next one fits, it is admitted; nobody overtakes one that does not fit. It
    fits if fewer than `max_running` run, and if the pages for its text so far are free, and one more unless nobody else
    runs. Those that are admitted together take their pages (without the one more) one after the other.

    Parameters
    ----------
    waiting, running : list of request
        In any order.
    free : int
        Free pages.
    max_running : int
    size : int
        Slots per page.

    Examples
    --------
    >>> old = {"id": 4, "prompt": 20, "made": 0, "fed": 0, "gamma": 0}
    >>> new = {"id": 7, "prompt": 5, "made": 0, "fed": 0, "gamma": 0}
    >>> admit([new, old], [], 9, 4, 16), admit([new, old], [], 3, 4, 16), admit([new, old], [], 1, 4, 16)
    ([4, 7], [4], [])
    """
    # BEGIN SOLUTION
    admitted = []
    for request in sorted(waiting, key=lambda request: request["id"]):
        needed = pages(request["prompt"] + request["made"], size)
        others = len(running) + len(admitted)
        if others >= max_running or needed + (others > 0) > free:
            break
        admitted.append(request["id"])
        free -= needed
    return admitted
    # END SOLUTION


def rows(running, max_rows, chunk):
    """Q3. Return how many rows of the next forward each request gets, as a dictionary by id.

    Whoever decodes takes part, with its newest token and its drafts, whatever the budget is. What is left of the budget
    goes to those that are being fed, the oldest first: at most `chunk` tokens each, never the newest of the text (it is
    fed when the request decodes), and fewer where the budget ends. So that nobody starves, the oldest of them gets
    at least one row. Requests without rows are left out.

    Parameters
    ----------
    running : list of request
        In any order.
    max_rows : int
        The budget.
    chunk : int

    Examples
    --------
    >>> decodes = {"id": 0, "prompt": 9, "made": 3, "fed": 11, "gamma": 4}
    >>> old = {"id": 1, "prompt": 100, "made": 0, "fed": 64, "gamma": 4}
    >>> new = {"id": 2, "prompt": 100, "made": 0, "fed": 0, "gamma": 4}
    >>> rows([decodes, new, old], 64, 64) == {0: 5, 1: 35, 2: 24}
    True
    >>> rows([decodes, new, old], 4, 64) == {0: 5, 1: 1}
    True
    """
    # BEGIN SOLUTION
    lacking = {request["id"]: request["prompt"] + request["made"] - request["fed"] for request in running}
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
    # END SOLUTION


def preempt(held, needs, free):
    """Q4. Return the ids of those that must make room, in the order in which they are set back.

    Pages run out if all together need more than are free. Then the youngest is set back: it gives its pages back, and
    needs none in this step. And so on, until the others have what they need. The oldest is never set back.

    Parameters
    ----------
    held : dict of int to int
        By id, the pages that each running request holds.
    needs : dict of int to int
        By id, the pages that requests take in this step; those that take none may be missing.
    free : int

    Examples
    --------
    >>> preempt({3: 5, 8: 2, 5: 4}, {3: 1, 8: 1}, 2), preempt({3: 5, 8: 2, 5: 4}, {3: 1, 5: 1}, 1)
    ([], [8])
    """
    # BEGIN SOLUTION
    victims = []
    for number in sorted(held, reverse=True)[:-1]:
        if sum(needs.get(one, 0) for one in held if one not in victims) <= free:
            break
        victims.append(number)
        free += held[number]
    return victims
    # END SOLUTION


def schedule(state):
    """Q5. Return the plan for one step: who is admitted, who is set back, and the rows of the next forward.

    First requests are admitted, then rows are given to all that run, those just admitted too. Then memory is looked at:
    a request that holds pages for `fed` slots needs, for as long as the step lasts, pages for `fed` and its rows. Who is
    set back gets no rows. Nobody is admitted or given other rows because of it before the next step.

    Parameters
    ----------
    state : dict
        waiting, running : list of request, in any order. Those that wait hold no pages, and `fed` is 0.
        free : free pages.
        max_running, max_rows, chunk, page_size : int.

    Returns
    -------
    dict
        admitted : list of ids, as :func:`admit` gives them.
        preempted : list of ids, as :func:`preempt` gives them.
        rows : dict of id to rows.
    """
    # BEGIN SOLUTION
    size, free = state["page_size"], state["free"]
    admitted = admit(state["waiting"], state["running"], free, state["max_running"], size)
    running = state["running"] + [request for request in state["waiting"] if request["id"] in admitted]
    plan = rows(running, state["max_rows"], state["chunk"])
    held = {request["id"]: pages(request["fed"], size) for request in running}
    needs = {
        request["id"]: pages(request["fed"] + plan.get(request["id"], 0), size) - held[request["id"]]
        for request in running
    }
    preempted = preempt(held, needs, free)
    return {
        "admitted": admitted,
        "preempted": preempted,
        "rows": {number: count for number, count in plan.items() if number not in preempted},
    }
    # END SOLUTION


def best_gamma(alphas, seconds, draft_s, largest):
    """Q6. Return how many tokens all requests should draft in the next step, for the most tokens per second.

    A request whose drafts are accepted with probability alpha gets 1 + alpha + ... + alpha^gamma tokens of a step on
    average. The step takes one forward of the target, with gamma + 1 rows for each request, and gamma forwards of the
    draft model. Of equally good numbers the smallest.

    Parameters
    ----------
    alphas : list of float
        One for each request that decodes; at least one.
    seconds : list of float
        Entry m - 1 is what the target's forward over m rows takes. Nothing is known of more rows than these, so they are
        not asked for.
    draft_s : float
        What one forward of the draft model takes for this batch.
    largest : int
        The most to draft.

    Examples
    --------
    >>> flat = [1.0] * 40
    >>> best_gamma([0.8], flat, 0.1, 8), best_gamma([0.8] * 8, [1 + 0.1 * m for m in range(80)], 0.1, 8)
    (6, 2)
    """
    # BEGIN SOLUTION
    best, rate = 0, 0.0
    for gamma in range(largest + 1):
        num_rows = len(alphas) * (gamma + 1)
        if num_rows > len(seconds):
            break
        tokens = sum(alpha**k for alpha in alphas for k in range(gamma + 1))
        found = tokens / (seconds[num_rows - 1] + gamma * draft_s)
        if found > rate:
            best, rate = gamma, found
    return best
    # END SOLUTION
