"""A5's checks: what a text costs, replayed.

`texts.json` holds texts the bundled target wrote at temperature 0, and for every place in them how many of the draft
model's next eight tokens are right and how sure it was of each. That is all a replay needs: nothing is timed and no
model runs, so the same plan always costs the same. Costs are in units of a target forward over one row.
"""

import json
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from minispec.course.grading import Check

LONGEST = 8
RECENT = 32
"""Steps of the history that a plan is shown."""
MEASURED = {"c": 0.2, "row": 0.1}
"""About what `minispec generate --compare` printed for the bundled pair on two cores of an AMD EPYC."""
CHEAP, DEAR = {"c": 0.1, "row": 0.05}, {"c": 0.5, "row": 0.05}
KINDS = ("prose", "code", "questions", "changing")


@cache
def texts(name):
    return json.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))


def case(costs, kinds=KINDS, file="texts.json", useless=False, windows=None):
    """``windows`` says of each kind which parts of its text are replayed: (start, length); the rest is given."""
    if windows is None:
        windows = {kind: texts(file)[kind]["parts"] for kind in kinds}
    return {"file": file, "kinds": list(kinds), **costs, "useless draft": useless, "windows": windows}


def show(case):
    draft = "a draft that is never right" if case["useless draft"] else "the bundled draft"
    return f"{', '.join(case['kinds'])} of {case['file']}; {draft}, c = {case['c']}, row = {case['row']}"


def unseen(rng):
    """Return windows of three quarters into each unseen text; every submission gets its own."""
    told = texts("hidden/texts.json")
    drawn = {}
    for kind in KINDS:
        sizes = [(start, length, 3 * length // 4) for start, length in told[kind]["parts"]]
        drawn[kind] = [[start + int(rng.integers(length - size)), size] for start, length, size in sizes]
    return {"file": "hidden/texts.json", "windows": drawn}


def cost(case, plan, tally=None):
    """Return the mean cost per token of the case's texts."""
    return sum(charge(case, kind, plan, tally) for kind in case["kinds"]) / len(case["kinds"])


def charge(case, kind, plan, tally=None):
    """Return the cost per token of a text under a plan; the prompt's prefill is left out.

    The draft model, when it is asked again, first pays for the rows of the tokens it has missed. ``tally`` gets, of each
    kind of step, how many there were, what they cost and the tokens they made.
    """
    text = texts(case["file"])[kind]
    tokens, c, row = text["tokens"], case["c"], case["row"]
    first = text["parts"][0][0]
    spent, made, history = 0.0, 0, []
    for start, length in case["windows"][kind]:
        place, end, held = start, start + length, start - 1  # what the draft's cache holds
        while place < end:
            room = end - place - 1
            told = plan(tokens[:place], history[-RECENT:], c, row)
            right = 0 if case["useless draft"] else text["right"][place - first]
            sure = text["confidences"][place - first]
            step, draft_rows = take(told, tokens[place:end], room, right, sure)
            paid = 1 + row * step["drafted"]
            if draft_rows:
                paid += c * (1 + row * (place - held - 1)) + c * (draft_rows - 1)
                held = min(place + draft_rows - 1, place + step["accepted"])
            spent += paid
            if tally is not None:
                form = "copies" if step["copied"] and step["drafted"] else "drafts" if draft_rows else "plain"
                so_far = tally.setdefault(form, [0, 0.0, 0])
                tally[form] = [so_far[0] + 1, so_far[1] + paid, so_far[2] + step["accepted"] + 1]
            history.append(step)
            place += step["accepted"] + 1
            made += step["accepted"] + 1
    return spent / made


def take(told, ahead, room, right, sure):
    """Return the finished step of one plan, and the draft model's forwards."""
    if not isinstance(told, dict) or not ("copy" in told or {"gamma", "stop_below"} <= set(told)):
        raise BadPlanError(f"the plan is {str(told)[:80]}; it must hold 'copy', or 'gamma' and 'stop_below'")
    if "copy" in told:
        copied = told["copy"].tolist() if isinstance(told["copy"], np.ndarray) else told["copy"]
        if not isinstance(copied, list) or any(type(token) is not int for token in copied):
            raise BadPlanError(f"the copied tokens are {repr(copied)[:80]}; they must be a list of whole numbers")
        copied = copied[: min(room, LONGEST)]
        accepted = next((i for i, token in enumerate(copied) if token != ahead[i]), len(copied))
        return {"copied": True, "drafted": len(copied), "accepted": accepted, "confidences": []}, 0
    if isinstance(told["gamma"], bool) or not isinstance(told["gamma"], int) or told["gamma"] < 0:
        raise BadPlanError(f"gamma is {told['gamma']!r}; it must be a whole number >= 0")
    if isinstance(told["stop_below"], bool) or not isinstance(told["stop_below"], (int, float)):
        raise BadPlanError(f"stop_below is {repr(told['stop_below'])[:80]}; it must be a number")
    gamma = min(told["gamma"], room, LONGEST)
    drafted = next((i + 1 for i in range(gamma) if sure[i] < told["stop_below"]), gamma)
    step = {"copied": False, "drafted": drafted, "accepted": min(drafted, right), "confidences": sure[:drafted]}
    return step, drafted


class BadPlanError(Exception):
    """The plan is none."""


def fixed(gamma, stop_below=0.0):
    return lambda tokens, history, c, row: {"gamma": gamma, "stop_below": stop_below}


@lru_cache(maxsize=1024)
def cost_of_always(told, gamma, stop_below):
    """Return the mean cost per token of a plan that is the same in every step."""
    return cost(json.loads(told), fixed(gamma, stop_below))


def best_fixed(told):
    """Return the mean cost per token of the best fixed gamma, one for all texts, chosen afterwards."""
    return min(cost_of_always(told, gamma, 0.0) for gamma in range(LONGEST + 1))


def share_of_best_fixed(share):
    return lambda case: share * best_fixed(json.dumps(case))


def observing(bar_of):
    """Observe the cost per token of a text and the bar it is held to."""

    def observe(student, case):
        tally = {}
        try:
            paid = cost(case, student.plan, tally)
        except BadPlanError as error:
            return {"broken": str(error)}
        return {"cost per token": round(paid, 6), "bar": round(bar_of(case), 6), "steps": tally}

    return observe


def at_most_the_bar(observed, expected):
    """A plan is right if it costs no more than the bar, which the solution never misses.

    What is expected is a mistake's cost, too, when a wrong plan is compared with those known: two that miss the bar are
    alike if they cost the same.
    """
    if "broken" in observed or "broken" in expected:
        return None if observed == expected else observed.get("broken", "this plan is none")
    missed = observed["cost per token"] > observed["bar"]
    if expected["cost per token"] <= expected["bar"]:
        words = f"the text costs {observed['cost per token']:.3f} per token; the bar is {observed['bar']:.3f}"
        return words if missed else None
    return None if observed == expected else "another cost"


def ranking(observed):
    return {"cost per token": observed["cost per token"]} if "broken" not in observed else {}


def explain(cases, observed, expected):
    """Name a plan that looks at nothing: the same gamma, and the same confidence to stop at, in every step."""
    paid = [one.get("cost per token") for one in observed]
    for gamma, stop_below in [*((g, 0.0) for g in range(1, LONGEST + 1)), *((LONGEST, n / 10) for n in range(1, 10))]:
        always = (cost_of_always(json.dumps(case), gamma, stop_below) for case in cases)
        if all(one == round(told, 6) for one, told in zip(paid, always, strict=True)):
            if stop_below:
                words = f"You stop at a confidence of {stop_below} on every machine"
                return "one_confidence_for_all", f"{words}; which chance pays depends on c and on row."
            words = f"You draft {gamma} in every step" if gamma > 1 else "You draft one token in every step"
            return "one_gamma_for_all", f"{words}, whatever a draft costs and however the last ones went."
    return next((explain_steps(one) for one in observed if one.get("cost per token", 0.0) > one.get("bar", 0.0)), None)


ADVICE = {
    "drafts": "The drafts cost more than they bring: draft fewer, and none where few are accepted.",
    "copies": "The copies cost more than they bring: copy only what is likely to go on, and only while copies come out right.",
    "plain": "What you propose pays, but most steps propose nothing: propose more often.",
    "": "What you propose pays, but too little: propose more where proposals are right, and let copies save draft forwards.",
}


def explain_steps(one):
    """Say what each kind of step cost per token, and name the kind that loses: a plain step costs 1."""
    steps = {form: one["steps"][form] for form in ("drafts", "copies", "plain") if form in one["steps"]}
    count = sum(number for number, _, _ in steps.values())
    paid = {form: spent / made for form, (_, spent, made) in steps.items()}
    lost = {form: spent - made for form, (_, spent, made) in steps.items()}
    worst = max(lost, key=lost.get)
    if lost[worst] <= 0.0 or worst == "plain":
        worst = "plain" if 2 * steps.get("plain", [0])[0] > count else ""
    told = [
        f"{steps[form][0]} with {form} cost {paid[form]:.2f} a token" for form in ("drafts", "copies") if form in steps
    ]
    if not told:
        return None
    return (
        f"steps_{worst or 'all'}",
        f"Of your {count} steps, {' and '.join(told)}; a plain one costs 1. {ADVICE[worst]}",
    )


def check(check_id, bar, cases, **rest):
    """Return a check that holds the fixed cases, and the same ones on texts nobody has seen, to a bar."""

    def hidden(rng):
        return [told | unseen(rng) for told in cases]

    return Check(
        check_id,
        observing(bar),
        cases=cases,
        hidden=hidden,
        same=at_most_the_bar,
        show=show,
        explain=explain,
        secret=True,
        **rest,
    )


def at_most(bar):
    return lambda case: bar


CHECKS = [
    check("a5.q1.dear", at_most(1.02), [case(DEAR, [kind]) for kind in KINDS]),
    check("a5.q1.useless", at_most(1.05), [case(costs, ["prose"], useless=True) for costs in (MEASURED, DEAR)]),
    check("a5.q2.gain", at_most(0.95), [case(MEASURED)]),
    check("a5.q2.fixed", share_of_best_fixed(1.0), [case(MEASURED)], leaderboard=ranking),
    check("a5.q2.better", share_of_best_fixed(0.9), [case(MEASURED)]),
    check("a5.q2.unseen", share_of_best_fixed(1.0), [case(CHEAP)]),
]
