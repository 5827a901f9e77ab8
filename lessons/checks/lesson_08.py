"""The checks of lesson 8: how many tokens to draft."""

from __future__ import annotations

from minispec.course.teaching import Mistake, Prediction, Reply, Step

PREDICTIONS = [
    Prediction(
        "best",
        8,
        "0.8^8 = 0.168 is above 0.05 · 3.09 = 0.155, and 0.8^9 = 0.134 is not.",
        [Reply(9, "0.8^9 = 0.134 is below 0.155 already."), Reply(7, "0.8^8 = 0.168 still pays.")],
    ),
    Prediction(
        "steady",
        "no",
        "Where acceptance does not change there is nothing to learn from the past but the average.",
        choices=("yes", "no"),
        replies=[Reply("yes", "What would it learn that the average does not say?")],
    ),
]


def draft_length(confidences: list[float], c: float, row: float, eta: float) -> int:
    reach = 1.0
    for number, chance in enumerate(confidences):
        reach *= chance
        if reach <= (c + row) * eta:
            return number
    return len(confidences)


def _no_product(confidences, c, row, eta):
    for number, chance in enumerate(confidences):
        if chance <= (c + row) * eta:
            return number
    return len(confidences)


def _product(chances):
    reach = 1.0
    for chance in chances:
        reach *= chance
    return reach


def _at_break_even(confidences, c, row, eta):
    reach = 1.0
    for number, chance in enumerate(confidences):
        reach *= chance
        if reach < (c + row) * eta:
            return number
    return len(confidences)


def _counts_the_failing(confidences, c, row, eta):
    return min(len(confidences), draft_length(confidences, c, row, eta) + 1)


def heuristic(history: list[tuple[int, int]], start: int = 5, largest: int = 20) -> int:
    gamma = start
    for drafted, accepted in history:
        if drafted:
            gamma = min(gamma + 2, largest) if accepted == drafted else max(gamma - 1, 1)
    return gamma


def _one_more(history, start=5, largest=20):
    gamma = start
    for drafted, accepted in history:
        if drafted:
            gamma = min(gamma + 1, largest) if accepted == drafted else max(gamma - 1, 1)
    return gamma


def _last_only(history, start=5, largest=20):
    return heuristic(history[-1:], start, largest)


def _no_floor(history, start=5, largest=20):
    gamma = start
    for drafted, accepted in history:
        if drafted:
            gamma = min(gamma + 2, largest) if accepted == drafted else gamma - 1
    return gamma


def _bounded_at_the_end(history, start=5, largest=20):
    gamma = start
    for drafted, accepted in history:
        if drafted:
            gamma += 2 if accepted == drafted else -1
    return max(1, min(gamma, largest))


def _bounded(history, start, least, largest):
    gamma = start
    for drafted, accepted in history:
        if drafted:
            gamma = min(gamma + 2, largest) if accepted == drafted else max(gamma - 1, least)
    return gamma


def _no_ceiling(history, start=5, largest=20):
    return heuristic(history, start, 10**9)


def _empty_counts(history, start=5, largest=20):
    gamma = start
    for drafted, accepted in history:
        gamma = min(gamma + 2, largest) if accepted == drafted else max(gamma - 1, 1)
    return gamma


def _any_accepted(history, start=5, largest=20):
    gamma = start
    for drafted, accepted in history:
        if drafted:
            gamma = min(gamma + 2, largest) if accepted else max(gamma - 1, 1)
    return gamma


def _simulate(
    controller, run, c, row, *, room=1, bonus=1, verify=1.0, rows=True, asked=False, clipped=True, per_step=False
):
    place, cost, history = 0, 0.0, []
    while place < len(run):
        gamma = wanted = controller(history)
        if room is not None:
            gamma = max(0, min(gamma, len(run) - place - room))
        accepted = min(run[place], gamma)
        cost += gamma * c + verify + (row * gamma if rows else 0)
        history.append((wanted if asked else gamma, accepted if clipped else run[place]))
        place += max(accepted + bonus, 1)
    return (len(history) if per_step else len(run)) / cost


def simulate(controller, run, c, row):
    return _simulate(controller, run, c, row)


def always_three(history):
    return 3


def never(history):
    return 0


def shy(history):
    """Looks at what was drafted, not at what it asked for."""
    return 6 if not history else 1 if history[-1][0] > 4 else 3


def by_count(history):
    return len(history) % 3


def alternating(history):
    return 4 if not history or history[-1][1] else 1


def fallback(history, gamma, worth, window=8, probe=10):
    drafted = [(d, a) for d, a in history if d][-window:]
    if not drafted or sum(a for _, a in drafted) / sum(d for d, _ in drafted) >= worth:
        return gamma
    idle = history[max(0, len(history) - (probe - 1)) :]
    return 1 if len(idle) == probe - 1 and all(d == 0 for d, _ in idle) else 0


def _never_probes(history, gamma, worth, window=8, probe=10):
    return min(fallback(history, gamma, worth, window, 10**6), gamma)


def _mean_of_rates(history, gamma, worth, window=8, probe=10):
    drafted = [(d, a) for d, a in history if d][-window:]
    if not drafted or sum(a / d for d, a in drafted) / len(drafted) >= worth:
        return gamma
    idle = history[max(0, len(history) - (probe - 1)) :]
    return 1 if len(idle) == probe - 1 and all(d == 0 for d, _ in idle) else 0


def _divided_by_gamma(history, gamma, worth, window=8, probe=10):
    return fallback([(d and gamma, a) for d, a in history], gamma, worth, window, probe)


def _worth_exclusive(history, gamma, worth, window=8, probe=10):
    return fallback(history, gamma, worth + 1e-9, window, probe)


def _all_history(history, gamma, worth, window=8, probe=10):
    return fallback(history, gamma, worth, 10**6, probe)


def _counts_idle_rounds(history, gamma, worth, window=8, probe=10):
    recent = history[-window:]
    total = sum(d for d, _ in recent)
    if not total or sum(a for _, a in recent) / total >= worth:
        return gamma
    idle = history[max(0, len(history) - (probe - 1)) :]
    return 1 if len(idle) == probe - 1 and all(d == 0 for d, _ in idle) else 0


def _and_all_for_none(function):
    """Also take ``history[-0:]`` for no step, where it is every step."""

    def told(history, gamma, worth, window=8, probe=10):
        probes = probe > 1 or not any(d for d, _ in history)
        return function(history, gamma, worth, window, probe if probes else 10**6)

    return told


def _every_so_many(history, gamma, worth, window=8, probe=10):
    told = fallback(history, gamma, worth, window, 10**6)
    return told if told else int(len(history) % probe == 0)


BAD = [(4, 0), (4, 0)]

FALLBACKS = [
    Mistake("You never probe, so you never learn that the text has become easy.", _never_probes),
    Mistake("One rate over all steps together, not the mean of the rates: a draft of one counts less.", _mean_of_rates),
    Mistake("Divide by what these steps drafted: a probe drafts one token, not `gamma`.", _divided_by_gamma),
    Mistake("Only the last `window` steps that drafted count: the text may have changed.", _all_history),
    Mistake("A rate of exactly `worth` is good enough: >=.", _worth_exclusive),
    Mistake(
        "Probe after probe − 1 idle steps, one earlier.",
        lambda h, g, worth, window=8, probe=10: fallback(h, g, worth, window, probe + 1),
    ),
    Mistake(
        "You probe one step too early.",
        lambda h, g, worth, window=8, probe=10: fallback(h, g, worth, window, probe - 1),
    ),
    Mistake(
        "No step has drafted yet: draft `gamma`, or it never starts.",
        lambda h, g, worth, window=8, probe=10: fallback(h, g, worth, window, probe) if h else 0,
    ),
    Mistake(
        "A probe drafts a single token, not gamma.",
        lambda h, g, worth, window=8, probe=10: fallback(h, g, worth, window, probe) and g,
    ),
    Mistake(
        "`history[-(probe - 1):]` is the whole history at probe = 1, not nothing: begin at len(history) − (probe − 1).",
        _and_all_for_none(fallback),
    ),
    Mistake(
        "Count the idle steps at the end, not all steps: a probe comes probe − 1 idle steps after a draft.",
        _every_so_many,
    ),
    Mistake("Steps that drafted nothing must not push the others out of the window.", _counts_idle_rounds),
]

STEPS = [
    Step(
        "draft_length",
        [
            ([], 0.1, 0.0, 2.0),
            ([0.5, 0.5, 0.5, 0.5], 0.1, 0.0, 2.0),
            ([0.9, 0.5, 0.9], 0.1, 0.0, 2.0),
            ([0.9, 0.1], 0.1, 0.0, 2.0),
            ([0.9, 0.2, 0.9], 0.1, 0.0, 2.0),
            ([0.9, 0.9, 0.9, 0.9, 0.9], 0.2, 0.1, 2.2),
            ([0.1], 0.1, 0.0, 2.0),
            ([1.0, 1.0], 0.3, 0.0, 3.0),
            ([0.6, 0.6, 0.6], 0.1, 0.05, 2.0),
            ([0.5, 0.5], 0.25, 0.0, 2.0),
            ([1.0, 0.5, 1.0], 0.125, 0.125, 2.0),
            ([1.0, 0.5], 0.1, 0.0, 4.0),
        ],
        draft_length,
        [
            Mistake("A token is reached only if all before it are accepted: multiply the chances.", _no_product),
            Mistake("Each token has a chance of its own: multiply them, not one of them with itself.",
                    lambda f, c, row, eta: next((i for i, x in enumerate(f) if x ** (i + 1) <= (c + row) * eta), len(f))),
            Mistake("You draft the token that no longer pays.", _counts_the_failing),
            Mistake("If one more token just breaks even, do not draft it: `reach >`, not `reach >=`.", _at_break_even),
            Mistake("Stop at the *first* token that does not pay: what comes after it is reached through it.",
                    lambda f, c, row, eta: sum(_product(f[: i + 1]) > (c + row) * eta or f[i] > (c + row) * eta
                                               for i in range(len(f)))),
            Mistake("If the first token does not pay, draft none.",
                    lambda f, c, row, eta: max(1, draft_length(f, c, row, eta)) if f else 0),
            Mistake("The row's time makes tokens elsewhere, too: (c + row) · η, not c · η + row.",
                    lambda f, c, row, eta: draft_length(f, c + row / eta, 0.0, eta)),
            Mistake("The row costs, too: c + row.", lambda f, c, row, eta: draft_length(f, c, 0.0, eta)),
            Mistake("Compare with (c + row) · η, not with c + row.",
                    lambda f, c, row, eta: draft_length(f, c, row, 1.0)),
        ],
        ["Keep a running product.", "As soon as the product is not above (c + row) · eta, return how many came before."],
    ),
    Step(
        "heuristic",
        [
            ([],),
            ([(5, 5)],),
            ([(5, 5), (7, 2)],),
            ([(5, 0)] * 9,),
            ([(5, 5)] * 12,),
            ([(5, 5), (0, 0), (7, 7)],),
            ([(5, 3), (4, 4)], 5, 5),
            ([(2, 2), (4, 1)], 2),
            ([*[(5, 0)] * 9, (1, 1)],),
            ([*[(5, 5)] * 12, (20, 3)],),
        ],
        heuristic,
        [
            Mistake("Keep γ between 1 and `largest` after *every* step, not only at the end.", _bounded_at_the_end),
            Mistake("Two more after a success, one fewer after a failure.", _one_more),
            Mistake("A step in which nothing was accepted counts, too: one fewer.",
                    lambda h, start=5, largest=20: heuristic([(d, a) for d, a in h if a], start, largest)),
            Mistake("Go through the whole history: each step changes γ a little.", _last_only),
            Mistake("At least 1.", _no_floor),
            Mistake("At least 1.", lambda h, start=5, largest=20: _bounded(h, start, 0, largest)),
            Mistake("At most `largest`.", _no_ceiling),
            Mistake("Keep γ between 1 and `largest` after *every* step, not only at the end.",
                    lambda h, start=5, largest=20: min(_no_ceiling(h, start), largest)),
            Mistake("A step that drafted nothing says nothing: 0 of 0 is no success.", _empty_counts),
            Mistake("Two more only if *all* were accepted.", _any_accepted),
        ],
        ["Start with `start`, and go through the steps one by one."],
    ),
    Step(
        "simulate",
        [
            (never, [0, 0], 0.1, 0.0),
            (always_three, [0], 0.1, 0.0),
            (always_three, [3, 2, 1, 0, 5, 4, 3, 2, 1, 0], 0.1, 0.0),
            (always_three, [3, 2, 1, 0, 5, 4, 3, 2, 1, 0], 0.1, 0.05),
            (shy, [0, 0, 0, 0, 0], 0.1, 0.0),
            (heuristic, [*range(12, -1, -1)], 0.1, 0.02),  # it asks for fewer than would have been accepted
            (by_count, [5, 4, 3, 2, 1, 0, 5, 4, 3, 2, 1, 0], 0.1, 0.02),
            (alternating, [1, 0, 0, 6, 5, 4, 3, 2, 1, 0, 0, 2, 1, 0], 0.2, 0.02),
        ],
        simulate,
        [
            Mistake("You draft beyond the end of the text.", lambda f, r, c, w: _simulate(f, r, c, w, room=None)),
            Mistake("Each step also yields one token of the target's own.",
                    lambda f, r, c, w: _simulate(f, r, c, w, bonus=0)),
            Mistake("The target's pass costs 1.", lambda f, r, c, w: _simulate(f, r, c, w, verify=1e-12)),
            Mistake("More rows cost more: + row · γ.", lambda f, r, c, w: _simulate(f, r, c, w, rows=False)),
            Mistake("The history holds what was *drafted*: at the end of the text that is less than the controller asked for.",
                    lambda f, r, c, w: _simulate(f, r, c, w, asked=True)),
            Mistake("The history holds what was *accepted* of this draft: γ at most, not all that the text would have taken.",
                    lambda f, r, c, w: _simulate(f, r, c, w, clipped=False)),
            Mistake("Hand the controller the steps so far: it sees nothing of them.",
                    lambda f, r, c, w: _simulate(lambda history: f([]), r, c, w)),
            Mistake("Hand the controller all steps so far, not only the last one: append.",
                    lambda f, r, c, w: _simulate(lambda history: f(history[-1:]), r, c, w)),
            Mistake("A step that drafted nothing belongs to the history, too: (0, 0).",
                    lambda f, r, c, w: _simulate(lambda history: f([one for one in history if one[0]]), r, c, w)),
            Mistake("The step adds one token of its own: at position i at most len(run) − i − 1 draft tokens.",
                    lambda f, r, c, w: _simulate(f, r, c, w, room=0)),
            Mistake("The first row is in the 1 already: row · γ, not row · (γ + 1).",
                    lambda f, r, c, w: _simulate(f, r, c, w, verify=1.0 + w)),
            Mistake("Plain decoding pays for len(run) tokens, not for each of your steps.",
                    lambda f, r, c, w: _simulate(f, r, c, w, per_step=True)),
            Mistake("Upside down: that is the cost per token.", lambda f, r, c, w: 1 / simulate(f, r, c, w)),
        ],
        [
            "While there are positions left: ask the controller, cut its γ at the end, count the cost, move on.",
            "The room at position i: len(run) − i − 1 draft tokens, because the step adds one token of its own.",
        ],
    ),
    Step(
        "fallback",
        [
            ([], 4, 0.2),
            (BAD, 4, 0.2),
            ([(4, 3), (4, 0)], 4, 0.2),
            ([*BAD, *[(0, 0)] * 8], 4, 0.2),
            ([*BAD, *[(0, 0)] * 9], 4, 0.2),
            ([*BAD, *[(0, 0)] * 10], 4, 0.2),
            ([*BAD, *[(0, 0)] * 9, (1, 0)], 4, 0.2),
            ([*[(4, 4)] * 9, *[(4, 0)] * 8], 4, 0.3),
            ([(1, 1), (4, 0), (4, 0)], 4, 0.2),
            ([*BAD, *[(0, 0)] * 9, (1, 1)], 4, 0.1, 2, 10),
            ([(4, 1), (4, 1)], 4, 0.25),
            ([(4, 4), (4, 0)], 4, 0.25, 1),
            ([*[(4, 4)] * 2, *[(4, 0)] * 5], 4, 0.25),
            ([*[(4, 4)] * 2, *[(4, 0)] * 8], 4, 0.15),
            ([*[(4, 1)] * 8], 4, 0.2),
            ([*BAD, (0, 0), (0, 0)], 4, 0.2, 8, 3),
            ([*BAD, (0, 0), (0, 0), (0, 0)], 4, 0.2, 8, 5),
            ([(4, 0), (1, 1)], 4, 0.2),
            (BAD, 4, 0.2, 8, 1),
        ],
        fallback,
        [*FALLBACKS, *(Mistake(one.message, _and_all_for_none(one.function)) for one in FALLBACKS)],
        ["First the steps that drafted; the last `window` of them.", "Then: does their common rate reach `worth`?",
         "If not: were the last probe − 1 steps all idle? Then 1, else 0."],
    ),
]  # fmt: skip
