"""Formulas against enumeration: of accepted and rejected drafts, of steps, of subsets, of every number that is read."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np

from minispec.lab.roofline import counts
from minispec.lab.roofline.shapes import Shape
from minispec.theory import (
    acceptance,
    batch,
    breakeven,
    candidates,
    draft_length,
    estimate,
    response,
    tokens,
    trees,
    walltime,
)

from .base import check

_EXACT = 1e-9


def _wrong(pairs) -> float:
    """How many of some pairs differ by more than rounding."""
    return float(sum(not abs(found - wanted) <= _EXACT * max(1.0, abs(wanted)) for found, wanted in pairs))


def _fates(acceptances) -> dict[int, float]:
    """The law of how many drafts are accepted, by listing what may happen to each."""
    law: dict[int, float] = {}
    for fate in itertools.product((True, False), repeat=len(acceptances)):
        kept = fate.index(False) if False in fate else len(fate)
        law[kept] = law.get(kept, 0.0) + math.prod(
            a if ok else 1.0 - a for a, ok in zip(acceptances, fate, strict=True)
        )
    return law


def _mean(law: dict[int, float]) -> float:
    return sum(kept * prob for kept, prob in law.items())


@check("value", "tokens per step, rates and laws, by listing the fates of up to five drafts")
def tokens_per_step() -> float:
    pairs = []
    for alpha, gamma in itertools.product((0.0, 0.3, 0.8, 1.0), range(6)):
        law = _fates([alpha] * gamma)
        kept = _mean(law)
        pairs.append((acceptance.tau(alpha, gamma), 1.0 + kept))
        pairs.append((walltime.operations_factor(alpha, gamma, 0.25), (0.25 * gamma + gamma + 1) / (1.0 + kept)))
        pairs.append((trees.chains_tokens(alpha, gamma, 1), 1.0 + kept))
        if gamma:
            rate = acceptance.draft_acceptance_rate(alpha, gamma)
            pairs += [(rate, kept / gamma), (acceptance.alpha_from_rate(rate, gamma), alpha)]
    by_position = [0.9, 0.5, 0.7]
    law = _fates(by_position)
    found = tokens.tokens_law_by_position(by_position)
    pairs += [(found.probs[kept + 1], prob) for kept, prob in law.items()] + [(found.probs[0], 0.0)]
    pairs.append((tokens.tau_by_position(by_position), 1.0 + _mean(law)))
    pairs.append((found.variance, sum(kept**2 * prob for kept, prob in law.items()) - _mean(law) ** 2))
    pairs += zip(tokens.conditional_acceptances([0.9, 0.45, 0.315]), by_position, strict=True)
    return _wrong(pairs)


@check("value", "tokens per step of unlike steps, from accepted, evaluated and the share without a rejection")
def pools_of_steps() -> float:
    kinds, gamma = [(0.25, 0.45), (0.75, 0.95)], 4
    laws = [(share, _fates([a] * gamma)) for share, a in kinds]
    kept = sum(share * _mean(law) for share, law in laws)
    evaluated = kept + sum(share * (1.0 - law[gamma]) for share, law in laws)
    whole = sum(share * law[gamma] for share, law in laws)
    lengths = [1.0 + _mean(law) for _, law in laws]
    in_steps = tokens.pooled_tau(lengths, [0.25, 0.75], weights_are="steps")
    in_tokens = tokens.pooled_tau(lengths, [0.25, 0.75])
    harmonic = 1.0 / sum(share / length for (share, _), length in zip(kinds, lengths, strict=True))
    return _wrong(
        [(tokens.exact_tau(kept / evaluated, whole), 1.0 + kept), (in_steps, 1.0 + kept), (in_tokens, harmonic)]
    )


@check("value", "cost of a step, speedup, break-even and the best length, worked out by hand and by trying each")
def wall_times() -> float:
    def rows(m: float) -> float:
        return 1.0 if m == 1 else 0.7 + 0.2 * m

    pairs = [
        (walltime.step_cost(4, 0.05, rows, 0.1), 0.2 + 1.7 + 0.1), (walltime.speedup(3.0, 4, 0.05, rows, 0.1), 1.5),
        (walltime.ahead_speedup(3, 0.5, 1.2, 0.4), 2.7 / (0.4 * 2.0 + 0.6 * 2.7)),
        (breakeven.break_even_rate(4, 0.05, rows, 0.1), 0.25),
        (breakeven.cost_ratio_for_speedup(1.5, 3.0, 4, rows, 0.1), 0.05),
        (breakeven.can_pay(0.2, 0.2), False), (breakeven.can_pay(0.21, 0.2), True),
    ]  # fmt: skip
    needed = breakeven.alpha_for_speedup(1.5, 4, 0.05, rows, 0.1)
    pairs.append((1.0 + _mean(_fates([needed or 0.0] * 4)), 3.0))
    for alpha, cost in itertools.product((0.3, 0.7, 0.95), (0.02, 0.2)):
        speeds = [1.0] + [(1.0 + _mean(_fates([alpha] * g))) / (g * cost + rows(g + 1) + 0.05) for g in range(1, 9)]
        best = draft_length.best_gamma(alpha, cost, rows, 0.05, max_gamma=8)
        pairs += [(best.gamma, int(np.argmax(speeds))), (best.speedup, max(speeds))]
    return _wrong(pairs)


@functools.cache
def _to_the_end(left: int, cost: float) -> tuple[dict[int, float], float]:
    """The law of the steps that produce so many tokens, drafting two, and their cost; each fate followed."""
    if left <= 0:
        return {0: 1.0}, 0.0
    law: dict[int, float] = {}
    drafted = min(2, left - 1)
    seconds = 1.0 + (cost * drafted + 0.25 if drafted else 0.0)
    for kept, prob in _fates([0.6, 0.8]).items():
        rest, rest_s = _to_the_end(left - min(kept, drafted) - 1, cost)
        seconds += prob * rest_s
        for steps, chance in rest.items():
            law[1 + steps] = law.get(1 + steps, 0.0) + prob * chance
    return law, seconds


@check("value", "steps and speedup of short responses, by following every fate")
def short_responses() -> float:
    step, pairs = tokens.tokens_law_by_position([0.6, 0.8]), []
    for n in range(1, 9):
        law, seconds = _to_the_end(n, 0.1)
        found = response.steps_law(n, step)
        pairs += [(found.probs[steps], law.get(steps, 0.0)) for steps in range(n + 1)]
        pairs.append((response.expected_steps(n, step), _mean(law)))
        pairs.append((response.response_speedup(n, [0.6, 0.8], 0.1, 1.25), n / seconds))
    pairs.append((response.expected_steps_asymptote(60, step), response.expected_steps(60, step)))
    return _wrong(pairs)


@check("value", "the most that any rule accepts of K candidates, by every set of tokens; K-SEQ by its own equation")
def several_candidates() -> float:
    generator, pairs = np.random.default_rng(0), []
    for k in (1, 2, 3, 5):
        for _ in range(6):
            p, q = generator.dirichlet(np.ones(4), 2)
            cuts = [
                p[list(h)].sum() + 1.0 - q[list(h)].sum() ** k
                for n in range(5)
                for h in itertools.combinations(range(4), n)
            ]
            pairs.append((candidates.optimal_acceptance(p, q, k), min(1.0, *cuts)))
            rho = candidates.k_seq_divisor(p, q, k)
            b = np.minimum(p / rho, q).sum()
            pairs += [(1.0 - (1.0 - b) ** k, rho * b), (candidates.k_seq_acceptance(p, q, k), rho * b)]
    parents, chances = (-1, -1, 0, 0, 2), (0.6, 0.3, 0.5, 0.2, 0.9)
    pairs.append((trees.tree_tokens(parents, chances), 1.0 + 0.6 + 0.3 + 0.6 * 0.5 + 0.6 * 0.2 + 0.6 * 0.5 * 0.9))
    pairs.append((trees.chains_tokens(0.5, 2, 3), 1.0 + (1.0 - 0.5**3) + (1.0 - 0.75**3)))
    return _wrong(pairs)


@check("value", "intervals end where their tests begin to refute; alpha is accepted over evaluated")
def estimates() -> float:
    pairs = []
    for kept, seen in ((720, 900), (3, 4), (1, 30)):
        found = estimate.alpha_from_counts(kept, seen)
        exact = estimate.alpha_from_counts(kept, seen, interval="exact")
        pairs += [(found.value, kept / seen), (exact.value, kept / seen)]
        for end in (found.low, found.high):
            pairs.append((abs(kept / seen - end), 1.959963984540054 * math.sqrt(end * (1.0 - end) / seen)))
        tails = [sum(math.comb(seen, i) * a**i * (1.0 - a) ** (seen - i) for i in range(first, last + 1))
                 for a, first, last in ((exact.low, kept, seen), (exact.high, 0, kept))]  # fmt: skip
        pairs += [(tail, 0.025) for tail in tails if seen < 100]
    overlaps = [[0.9, 0.8], [0.5], [], [0.7, 0.9, 0.6]]
    found = estimate.alpha_from_overlaps(overlaps)
    mean = 4.4 / 6
    error = math.sqrt(1.5 * sum((sum(step) - mean * len(step)) ** 2 for step in overlaps)) / 6
    pairs += [(found.value, mean), (found.low, max(0.0, mean - 4.302652729749464 * error))]
    return _wrong(pairs)


@check("value", "where batches stop paying: the ridge, the free batch, the batch whose speedup is 1")
def batches() -> float:
    cost = batch.roofline_verify_cost(64, 100.0)
    limit = batch.batch_break_even(0.7, 4, 0.05, 300.0)
    at_limit = walltime.speedup(acceptance.tau(0.7, 4), 4, 0.05, batch.roofline_verify_cost(limit or 1.0, 300.0))
    return _wrong([
        (batch.ridge_tokens(400e9, 40e9, 4), 20.0), (batch.ridge_tokens(400e9, 40e9, 1), 5.0),
        (batch.free_batch(4, 295.0), 59.0), (cost(1), 1.0), (cost(1.5625), 1.0), (cost(5), 3.2),
        (batch.roofline_verify_cost(200, 100.0)(5), 5.0), (at_limit, 1.0),
        (batch.read_cost_ratio(1000, 2, (10.0, 1.0), (100.0, 3.0)), 2010.0 / 6100.0),
    ])  # fmt: skip


# ── counts ──────────────────────────────────────────────────────────────────────────────────────────────────────────

_SHAPE = Shape("small", 11, 16, 8, 3, 2, 12, 1)


@check("counter", "operations and bytes of a small forward over a batch, added up token by token and slot by slot")
def operations_and_bytes() -> float:
    rows, context, sequences, logits = 3, 5, 2, 1
    storage = counts.Storage("int8", panel=4, always_biased=True)
    found = {part.name: part for part in counts.count_forward(
        _SHAPE, rows, context, batch=sequences, storage=storage, num_logits=logits, kv_bytes=2
    )}  # fmt: skip
    slots = [context + i + 1 for _ in range(sequences) for i in range(rows)]  # what each token sees
    wanted = {
        ("embed", "flops"): 6 * 8, ("embed", "weight_bytes"): 6 * (8 + 4 + 32), ("embed", "output_bytes"): 6 * 32,
        ("attn.scores", "flops"): 3 * sum(2 * slot * (4 + 4 + 5) for slot in slots),
        ("attn.values", "flops"): 3 * sum(2 * 8 * slot + 8 for slot in slots),
        ("attn.scores", "cache_bytes"): 3 * sequences * (context + rows) * 4 * 2,
        ("attn.store", "output_bytes"): 3 * 6 * 2 * 4 * 2, ("attn.store", "input_bytes"): 3 * 6 * 2 * 4 * 4,
        ("attn.c_attn", "flops"): 3 * 6 * 16 * (2 * 8 + 1), ("attn.c_attn", "weight_bytes"): 3 * 16 * (8 + 4 + 4),
        ("attn.c_attn", "padding_bytes"): 0, ("attn.c_proj", "flops"): 3 * 6 * 8 * (2 * 8 + 2),
        ("attn.c_proj", "input_bytes"): 3 * 6 * 4 * (8 + 8), ("mlp.c_fc", "flops"): 3 * 6 * 12 * (2 * 8 + 1),
        ("mlp.activation", "flops"): 3 * 6 * 12 * 9, ("ln_1", "flops"): 3 * 6 * 8 * 8, ("ln_1", "calls"): 3,
        ("ln_f", "flops"): 2 * 8 * 8, ("lm_head", "flops"): 2 * 11 * (2 * 8 + 1),
        ("lm_head", "weight_bytes"): 8 * 12 + 4 * 11 + 4 * 11, ("lm_head", "padding_bytes"): 8 * 12 - 8 * 11,
    }  # fmt: skip
    wrong = sum(getattr(found[name], what) != value for (name, what), value in wanted.items())
    whole = counts.total(found.values())
    wrong += whole.flops != sum(part.flops for part in found.values()) or whole.calls != sum(
        p.calls for p in found.values()
    )
    norm, layer = 16, 8 * 16 + 16 + 8 * 8 + 8 + 8 * 12 + 12 + 12 * 8 + 8
    return float(wrong + (_SHAPE.num_parameters != 11 * 8 + 16 * 8 + 3 * (2 * norm + layer) + norm))
