"""A5: a drafter or controller of your own.

At temperature 0 the target writes one text, whatever you draft; you decide what it costs. `plan` is called once per
step. See HANDOUT.md for the rules of the game, and for what a step costs.
"""


def plan(tokens, history, c, row):
    """Say what the next step drafts.

    Parameters
    ----------
    tokens : list of int
        The text so far, prompt included.
    history : list of dict
        One entry per step, of the last 32 steps, the latest last: "copied" (bool), "drafted" (int), "accepted" (int),
        "confidences" (list of float: the draft model's probability of each token it drafted; empty for copies).
    c : float
        Cost of a draft forward over one row; a target forward over one row costs 1.
    row : float
        Every further row of a forward costs this share of its first one.

    Returns
    -------
    dict
        {"copy": list of int}: propose these tokens yourself, without the draft model. Or {"gamma": int,
        "stop_below": float}: let the draft model propose up to gamma tokens (at most 8 are drafted), and stop behind
        the first one whose probability is below the threshold. {"gamma": 0, "stop_below": 0.0} is a plain step.
    """
    # BEGIN SOLUTION
    copied = continuation(tokens)
    copies = [step["accepted"] for step in history if step["copied"]][-6:] or [1]
    if len(copied) >= 2 and 2 * sum(copies) >= len(copies):
        return {"copy": copied[: 2 + 2 * copies[-1]]}  # wrong ones cost rows: more only while copying goes well
    return drafting(history, c, row)
    # END SOLUTION


# Ideas to begin with. Nobody calls the functions below but you.


def continuation(tokens, size=3, longest=8):
    """Return what followed the last time the text ended in the same `size` tokens."""
    # BEGIN SOLUTION
    end = tokens[-size:]
    for start in range(len(tokens) - size - 1, -1, -1):
        if tokens[start : start + size] == end:
            return tokens[start + size : start + size + longest]
    return []
    # END SOLUTION


def drafting(history, c, row):
    """Return a plan for the draft model: as many tokens as pay at the acceptance of the recent steps."""
    # BEGIN SOLUTION
    accepted, judged, weight = 1.0, 2.0, 1.0  # as if two drafts had been judged before, one of them accepted
    for step in reversed([step for step in history if not step["copied"] and step["drafted"]][-24:]):
        accepted += weight * step["accepted"]
        judged += weight * min(step["drafted"], step["accepted"] + 1)
        weight *= 0.85
    alpha = accepted / judged
    rates = [sum(alpha**k for k in range(gamma + 1)) / (1.0 + gamma * (c + row)) for gamma in range(9)]
    gamma = max(range(9), key=rates.__getitem__)
    idle = next((i for i, step in enumerate(reversed(history)) if step["drafted"] and not step["copied"]), len(history))
    if gamma == 0 and idle >= 30:  # the text may have changed
        gamma = 1
    return {"gamma": gamma, "stop_below": 0.4}
    # END SOLUTION
