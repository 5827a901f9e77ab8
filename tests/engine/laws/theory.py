"""What rules do, from their theorems rather than their algorithms: the joint law of tokens and their sources.

Each rule is one line: the weight of a kept draft, and the weight of a token that ends the step after i kept drafts.
For block verification these are the two statements its docstring proves, with no coin in sight.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Row = np.ndarray
ChainLaw = Callable[[tuple[int, ...]], Row]
Kept = Callable[[float, Row, Row, int], float]
"""``kept(before, p, q, x)``: probability that the drafts up to x are drawn and stay, divided by that of drawing those
before x; ``before`` is the same for the drafts before x."""
Ended = Callable[[float, Row, Row, int], float]
"""``ended(before, p, q, y)``: likewise, that the draft after the kept ones is rejected and y is emitted instead."""


def rejection_kept(before, p, q, x):
    return before * min(float(p[x]), float(q[x]))


def rejection_ended(before, p, q, y):
    return before * max(float(p[y]) - float(q[y]), 0.0)


def match_kept(before, p, q, x):
    return before * float(p[x]) * float(q[x])


def match_ended(before, p, q, y):
    return before * float(p[y]) * (1.0 - float(q[y]))


RULES: dict[str, tuple[Kept, Ended]] = {
    "rejection": (rejection_kept, rejection_ended),
    "tree": (rejection_kept, rejection_ended),
    "match": (match_kept, match_ended),
}


def sources_law(rule: str, target: ChainLaw, draft: ChainLaw, gamma: int, num_tokens: int) -> dict:
    """Return the law of ((token, source), ...) of ``num_tokens`` tokens, decoded step after step."""
    law: dict[tuple, float] = {}

    def step(emitted: tuple, prob: float) -> None:
        tokens = tuple(token for token, _ in emitted)
        room = num_tokens - len(tokens)
        if not room:
            law[emitted] = law.get(emitted, 0.0) + prob
            return
        drafts = min(gamma, room - 1)
        if not drafts:
            for token, p in enumerate(target(tokens)):
                if p > 0.0:
                    step((*emitted, (token, "plain")), prob * float(p))
            return
        for kept, ending, source, weight in step_law(rule, target, draft, tokens, drafts):
            accepted = ((token, "accepted") for token in kept)
            step((*emitted, *accepted, (ending, source)), prob * weight)

    step((), 1.0)
    return law


def step_law(rule: str, target: ChainLaw, draft: ChainLaw, tokens: tuple[int, ...], gamma: int):
    """Yield (kept drafts, the token after them, its source, probability) of one step."""
    if rule == "block":
        yield from _block_step(target, draft, tokens, gamma)
        return
    kept_weight, ended_weight = RULES[rule]
    todo: list[tuple[tuple[int, ...], float]] = [((), 1.0)]
    while todo:
        kept, before = todo.pop()
        p = target((*tokens, *kept))
        if len(kept) == gamma:
            yield from ((kept, y, "bonus", before * float(p[y])) for y in range(len(p)) if p[y] > 0.0)
            continue
        q = draft((*tokens, *kept))
        for token in range(len(p)):
            weight = ended_weight(before, p, q, token)
            if weight > 0.0:
                yield kept, token, "recovered", weight
            weight = kept_weight(before, p, q, token)
            if weight > 0.0:
                todo.append(((*kept, token), weight))


def _block_step(target: ChainLaw, draft: ChainLaw, tokens: tuple[int, ...], gamma: int):
    """P(tau = i, x_1..x_i, then y) = prod q(x_j) max(p_i p(y) - q(y), 0), and prod q(x_j) p_gamma p(y) at the end."""
    todo: list[tuple[tuple[int, ...], float, float]] = [((), 1.0, 1.0)]  # kept, prod q, p_i
    while todo:
        kept, drawn, survived = todo.pop()
        p = target((*tokens, *kept))
        if len(kept) == gamma:
            yield from ((kept, y, "bonus", drawn * survived * float(p[y])) for y in range(len(p)))
            continue
        q = draft((*tokens, *kept))
        for token in range(len(p)):
            weight = drawn * max(survived * float(p[token]) - float(q[token]), 0.0)
            if weight > 0.0:
                yield kept, token, "recovered", weight
            if q[token] > 0.0:
                ratio = survived * float(p[token]) / float(q[token])
                todo.append(((*kept, token), drawn * float(q[token]), min(1.0, ratio)))


def race_lost(p: Row, q: Row) -> float:
    """P(two exponential races on the same noise have different winners), by the rates of the remaining clocks."""
    both = 0.0
    for x in range(len(p)):
        if p[x] > 0.0 and q[x] > 0.0:
            both += 1.0 / math.fsum(max(float(p[y] / p[x]), float(q[y] / q[x])) for y in range(len(p)))
    return 1.0 - both
