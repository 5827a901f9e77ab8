"""Logits to probabilities, against naive writings of each rule, and the same bits alone or in a matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minispec.engine.sampling import SamplingParams, distribution, processors
from minispec.engine.sampling.draw import find_likeliest
from minispec.errors import InvariantError, OptionError

# A few values, so that ties are common, and any others to two decimals: logits closer than 1e-16 have one probability,
# which makes them tied for every rule but temperature 0.
logit = st.sampled_from([-np.inf, -3.0, 0.0, 0.0, 1.0, 1.0, 2.0]) | st.integers(-5000, 5000).map(
    lambda value: value / 100
)


@st.composite
def logit_rows(draw, max_rows=5, max_size=9):
    size = draw(st.integers(1, max_size))
    rows = draw(st.lists(st.lists(logit, min_size=size, max_size=size), min_size=1, max_size=max_rows))
    array = np.array(rows, np.float32)
    array[np.isneginf(array).all(axis=1), -1] = 0.0
    array.flags.writeable = False
    return array


params = st.builds(
    SamplingParams,
    temperature=st.sampled_from([0.0, 1e-320, 1e-12, 0.3, 0.8, 1.0, 3.0]) | st.floats(0.01, 10),
    top_k=st.integers(0, 10),
    top_p=st.sampled_from([1e-6, 0.1, 0.5, 0.95, 1.0]) | st.floats(0.001, 1.0),
    min_p=st.sampled_from([0.0, 0.05, 1.0]) | st.floats(0.0, 1.0),
)


def likeliest_first(probs):
    return sorted(range(len(probs)), key=lambda token: (-probs[token], token))


def naive(logits, params):
    """The documented order, one rule after the other, each the obvious way."""
    if params.temperature == 0.0:
        return np.eye(len(logits))[likeliest_first(logits)[0]]
    with np.errstate(over="ignore"):
        weights = np.exp((logits.astype(np.float64) - float(max(logits))) / params.temperature)
    probs = weights / weights.sum()

    def only(kept):
        result = np.array([prob if token in kept else 0.0 for token, prob in enumerate(probs)])
        return result / result.sum()

    if params.top_k:
        probs = only(likeliest_first(probs)[: params.top_k])
    if params.top_p < 1.0:
        kept, mass = [], 0.0
        for token in likeliest_first(probs):
            kept.append(token)
            mass += probs[token]
            if mass >= params.top_p:
                break
        probs = only(kept)
    if params.min_p > 0.0:
        probs = only([token for token, prob in enumerate(probs) if prob >= params.min_p * max(probs)])
    return probs


@settings(max_examples=500)
@given(logit_rows(), params)
def test_distribution_is_the_naive_one(logits, params):
    """Same support, same values; tolerance: the sums are in another order, a dozen roundings of 1e-16. Both sides add
    up the sorted probabilities from the largest, so that they cross top_p at the same token."""
    probs = distribution(logits, params)
    for row, found in zip(logits, probs, strict=True):
        wanted = naive(row, params)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=0.0)


@settings(max_examples=300)
@given(logit_rows(), params)
def test_rows_of_a_matrix_have_the_bits_of_the_row_alone(logits, params):
    together = distribution(logits, params)
    for i in range(len(logits)):
        assert distribution(logits[i : i + 1], params).tobytes() == together[i].tobytes()
        strided = np.asfortranarray(np.repeat(logits, 2, axis=1))[:, ::2]
        assert distribution(strided, params).tobytes() == together.tobytes()


@pytest.mark.parametrize("size", [1, 7, 50_257])
def test_rows_of_a_large_matrix_have_the_bits_of_the_row_alone(size):
    """The sizes at which NumPy's sums change their shape."""
    logits = np.random.default_rng(0).normal(0.0, 3.0, (6, size)).astype(np.float32)
    for kind in (SamplingParams(), SamplingParams(1.0, 40, 0.9, 0.02), SamplingParams(0.0)):
        together = distribution(logits, kind)
        for i in range(len(logits)):
            assert distribution(logits[i : i + 1], kind).tobytes() == together[i].tobytes()


@given(st.lists(st.integers(0, 6), min_size=1, max_size=9).filter(any), st.floats(0.01, 0.999))
def test_top_p_keeps_the_crossing_token_and_no_more(weights, p):
    """Integer weights over a power of two: every sum is exact, so the claim is exact too."""
    probs = np.array(weights, np.float64)
    total = probs.sum()
    kept = np.flatnonzero(processors.top_p(probs / total, p))
    mass = probs[kept].sum() / total
    assert mass >= p - 1e-12
    assert mass - probs[kept].min() / total < p + 1e-12


def test_the_crossing_token_stays_also_where_it_is_the_first():
    assert processors.top_p(np.array([0.2, 0.7, 0.1]), 0.1).tolist() == [0.0, 1.0, 0.0]
    assert processors.top_p(np.array([0.25, 0.25, 0.5]), 0.75).tolist() == [1 / 3, 0.0, 2 / 3], "a tie: the lower id"
    assert np.count_nonzero(processors.top_p(np.full(8, 0.125), 0.5)) == 4, "reaching p is enough"


def test_the_order_is_temperature_top_k_top_p_min_p():
    """A row on which any other order gives another support."""
    logits = np.log(np.array([[0.4, 0.3, 0.2, 0.1]])).astype(np.float32)
    probs = distribution(logits, SamplingParams(1.0, 3, 0.75, 0.0))[0]
    assert np.flatnonzero(probs).tolist() == [0, 1], "0.75 of what top-k left: 0.7 / 0.9 is enough"
    probs = distribution(logits, SamplingParams(2.0, 0, 0.7, 0.0))[0]
    assert np.flatnonzero(probs).tolist() == [0, 1, 2], "temperature first: the flatter row needs three"
    probs = distribution(logits, SamplingParams(2.0, 0, 1.0, 0.6))[0]
    assert np.flatnonzero(probs).tolist() == [0, 1, 2], "min-p after temperature: sqrt(0.2 / 0.4) = 0.71"


@pytest.mark.parametrize("bad", [[np.nan, 1.0], [1.0, np.nan], [np.inf, 0.0], [-np.inf, -np.inf]])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_broken_logits_raise(bad, temperature):
    with pytest.raises(InvariantError, match="largest logit"):
        distribution(np.array([[0.0, 1.0], bad], np.float32), SamplingParams(temperature))


def test_no_rows_give_no_rows():
    assert distribution(np.empty((0, 5), np.float32), SamplingParams()).shape == (0, 5)


@pytest.mark.parametrize(
    "bad",
    [
        {"temperature": -1.0}, {"temperature": float("nan")}, {"temperature": float("inf")}, {"top_k": -1},
        {"top_k": True}, {"top_k": 2**63}, {"top_k": 1.5}, {"min_tokens": True}, {"min_tokens": -1},
        {"top_p": 0.0}, {"top_p": 1.5}, {"top_p": float("nan")}, {"min_p": -0.1}, {"min_p": 1.1},
        {"min_p": float("nan")},
    ],
)  # fmt: skip
def test_values_outside_their_range_are_refused_by_name(bad):
    (name,) = bad
    with pytest.raises(OptionError, match=name.replace("_", "-")):
        SamplingParams(**bad)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.integers(0, 12))
def test_of_equal_values_the_lowest_ids_are_the_likeliest(values: list[int], count: int) -> None:
    """In every backend and everywhere: a tree or a report that breaks a tie otherwise is another tree."""
    expected = sorted(range(len(values)), key=lambda i: -values[i])[:count]
    assert find_likeliest(np.array(values, np.float32), count).tolist() == expected
