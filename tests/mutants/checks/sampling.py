"""From logits to a token: filters, penalties, noise, each against a second writing or a hand-worked value."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np

from minispec.engine.noise import Address
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.sampling import Sampler, SamplingParams, draw
from minispec.errors import InvariantError
from tests.engine.laws.oracle import slow_row
from tests.engine.sampling import test_history, test_kernels, test_long_histories

from .base import check, suite

_FILTERS = [
    {}, {"temperature": 0.7}, {"temperature": 1.5}, {"top_k": 1}, {"top_k": 3}, {"top_k": 8}, {"top_p": 0.9},
    {"top_p": 0.5}, {"top_p": 0.05}, {"min_p": 0.1}, {"top_k": 6, "top_p": 0.9, "min_p": 0.2, "temperature": 0.8},
]  # fmt: skip


def _params(**options: float) -> SamplingParams:
    return SamplingParams(**{"temperature": 1.0, "top_p": 1.0, **options})


@functools.cache
def _filtered():
    """Rows of every residue of eight, with ties and without, each with what the slow oracle makes of it."""
    generator = np.random.default_rng(0)
    cases = []
    for size, options in itertools.product((1, 2, 7, 8, 9, 19, 36), _FILTERS):
        row, params = (2.0 * generator.normal(size=size)).astype(np.float32), _params(**options)
        rows = row, np.round(row), np.zeros_like(row)
        cases += [(logits, params, np.array(slow_row(logits, params, []))) for logits in rows]
    return cases


@check(
    "value", "temperature, top-k, top-p, min-p of rows of 1 to 36 tokens, with ties and without, one token at a time"
)
def filters() -> float:
    worst = 0.0
    for logits, params, wanted in _filtered():
        probs = draw.distribution(logits[None], params)[0]
        worst = max(worst, float(np.abs(probs - wanted).max()) if np.array_equal(probs > 0, wanted > 0) else 1.0)
    return worst if worst > 1e-12 else 0.0


suite(
    "exponential", "value", "exp(x) is within two units in the last place, down to the smallest subnormal number",
    test_kernels.test_the_exponential_is_within_two_units_in_the_last_place,
    test_kernels.test_the_exponential_of_the_ends,
)  # fmt: skip


@check("value", "a row with NaN or infinity anywhere, or with nothing but minus infinity, is refused")
def broken_rows() -> float:
    accepted = 0
    for value, place in itertools.product((np.nan, np.inf, -np.inf), range(4)):
        row = np.full(4, -np.inf) if value == -np.inf else np.arange(4.0)
        row[place] = value
        try:
            draw.distribution(row[None], _params(top_k=2))
            accepted += 1
        except InvariantError:
            pass
    return float(accepted)


@check("value", "at a temperature next to 0 all mass is on the likeliest token, however far the others are")
def tiny_temperatures() -> float:
    rows = np.array([[1.0, 3.0, -2.0], [-300.0, 80.0, 79.9]])
    off = (draw.distribution(rows, _params(temperature=t)) - np.eye(3)[[1, 1]] for t in (1e-308, 1e-20))
    return float(sum(not np.array_equal(each, np.zeros((2, 3))) for each in off))


suite(
    "logits are read only", "trace", "logits of either precision are as they were after they were processed",
    *(functools.partial(test_long_histories.test_logits_are_not_changed, dtype) for dtype in (np.float32, np.float64)),
)  # fmt: skip


_PENALTIES = {"repetition_penalty": 1.7}, {"presence_penalty": 0.9}, {"frequency_penalty": 0.05}
_HISTORIES = itertools.product(_PENALTIES, (63, 300))

suite(
    "long histories", "value",
    "penalties of long texts and prompts, one token at a time; rows of a chain, each behind its own prefix",
    *(functools.partial(test_long_histories.test_penalties_see_the_whole_text, *each) for each in _HISTORIES),
    test_long_histories.test_repetition_sees_the_beginning_of_a_long_prompt,
    test_history.test_rows_of_a_chain_are_processed_with_their_own_prefixes,
    test_history.test_the_end_is_impossible_before_the_minimum_length_and_no_longer,
)  # fmt: skip


class _Form:
    """A constraint that allows the tokens it is made of, whatever came before."""

    def __init__(self, *tokens: int) -> None:
        self._tokens = tokens

    def mask(self, generated):
        return np.isin(np.arange(5), self._tokens)


@check("value", "minimum length: the end is forbidden unless a form leaves nothing else")
def minimum_length_under_a_form() -> float:
    wrong = 0
    for allowed, wanted in (((4,), [4]), ((2, 4), [2]), ((1, 2), [1, 2]), ((3, 4), [3, 4]), ((0, 3, 4), [0])):
        ends = frozenset({4}) if allowed == (3, 4) else frozenset({3, 4})
        params = _params(min_tokens=9)
        probs = Sampler(params, 1, ends, _Form(*allowed))(np.zeros((1, 5), np.float32), [0, 1])[0]
        wrong += np.flatnonzero(probs).tolist() != ([3] if allowed == (3, 4) else wanted)
    return float(wrong)


# ── noise ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_CODES = {"sample": 0, "draft": 1, "accept": 2, "residual": 3, "bonus": 4}
_ADDRESSES = [
    (seed, row, Address(purpose, position, step, level, node))
    for (seed, row), purpose, (position, step, level, node) in itertools.product(
        [(0, 0), (2**63 + 5, 0), (7, 3), (7, 2**55)],
        _CODES,
        [(0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (5, 2, 1, 0), (5, 2, 0, 65536), (2**63, 2**40, 2**31, 2**32 - 1)],
    )
]


def _uniforms(seed: int, row: int, at: Address, size: int) -> np.ndarray:
    """The noise of an address by NumPy's Philox, which counts from 1."""
    key = np.array([seed, row << 8 | _CODES[at.purpose]], np.uint64)
    counter = np.array([0, at.position, at.step, at.level << 32 | at.node], np.uint64)
    return (np.random.Philox(key=key, counter=counter).random_raw(size) >> np.uint64(11)) * 2.0**-53


_SUPPORTS = [list(range(9)), [0, 5, 6, 13, 14, 31], [3], [2, 3, 4, 5, 30]]


@functools.cache
def _races():
    """Rows of 32 tokens, dense and sparse, some as unlikely as float64 allows; and who wins, by NumPy's noise."""
    generator = np.random.default_rng(3)
    cases = []
    for (seed, row, at), support in zip(_ADDRESSES, itertools.cycle(_SUPPORTS), strict=False):
        probs = np.zeros(32)
        probs[support] = generator.dirichlet(np.full(len(support), 0.3))
        probs[[0, 30]] = np.where(probs[[0, 30]] > 0.0, 5e-324, 0.0)
        with np.errstate(divide="ignore", over="ignore"):
            times = -np.log1p(-_uniforms(seed, row, at, 32)) / probs
        cases.append((PhiloxNoise(seed, row), at, probs, int(np.argmin(times))))
    return cases


@check("seed", "tokens drawn at 120 addresses, from dense and sparse rows, are those of the race on NumPy's Philox")
def races() -> float:
    return float(np.mean([noise.categorical(probs, at) != winner for noise, at, probs, winner in _races()]))


@check("value", "a token is drawn where the only positive probabilities are subnormal and no race ever ends")
def subnormal_supports() -> float:
    wrong = 0
    for token, prob in itertools.product(range(6), (5e-324, 1e-310)):
        wrong += PhiloxNoise(1).categorical(np.eye(6)[token] * prob, Address("bonus", token)) != token
    return float(wrong)


@functools.cache
def _closest_coins():
    """Of 4,096 addresses those with the largest and the smallest uniforms, with these."""
    uniforms = {i: float(_uniforms(0, 0, Address("accept", i), 1)[0]) for i in range(4096)}
    order = sorted(uniforms, key=uniforms.__getitem__)
    return [(Address("accept", i), uniforms[i]) for i in (*order[:20], *order[2000:2020], *order[-20:])]


@check("value", "a coin says yes iff its uniform is below the probability, to the last bit, next to 0 and next to 1")
def near_certain_coins() -> float:
    noise, wrong = PhiloxNoise(0), 0
    for at, u in _closest_coins():
        wrong += noise.bernoulli(u, at) + (not noise.bernoulli(math.nextafter(u, 2.0), at))
    return float(wrong)
