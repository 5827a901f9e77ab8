"""The exact tau of a run, drafting ahead, and costs that depend on the context."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.errors import OptionError
from minispec.lab.roofline.counts import Storage, count_forward
from minispec.lab.roofline.shapes import get_shape
from minispec.theory import ahead_speedup, exact_tau, read_cost_ratio, survivals, tau, tau_by_position
from tests.theory.simulation import accepted_lengths, agrees, rng

ROUNDING = 1e-9


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=40))
def test_any_run_has_the_tau_that_the_identity_says(steps):
    """Steps of any lengths, accepted in any way: nothing but counting."""
    steps = [(min(accepted, drafted), drafted) for accepted, drafted in steps]
    accepted = sum(k for k, _ in steps)
    rejections = sum(k < g for k, g in steps)
    if not rejections:
        return  # alpha is 1
    alpha, survival = accepted / (accepted + rejections), 1 - rejections / len(steps)
    assert exact_tau(alpha, survival) == pytest.approx((accepted + len(steps)) / len(steps), abs=ROUNDING)


@given(st.lists(st.floats(0.05, 0.95), min_size=1, max_size=8))
def test_it_agrees_with_acceptances_by_position(acceptances):
    reached = [1.0, *survivals(acceptances)]
    alpha = sum(reached[1:]) / sum(reached[:-1])
    assert exact_tau(alpha, reached[-1]) == pytest.approx(tau_by_position(acceptances), abs=ROUNDING)


@given(st.floats(0.0, 0.99), st.integers(1, 12))
def test_with_independent_acceptances_it_is_the_formula(alpha, gamma):
    assert exact_tau(alpha, alpha**gamma) == pytest.approx(tau(alpha, gamma), rel=1e-9)


@given(st.floats(0.05, 0.95), st.floats(0.0, 1.0), st.integers(1, 8))
def test_the_formula_is_too_high_exactly_if_full_drafts_are_more_frequent_than_it_thinks(alpha, survival, gamma):
    gap = survival - alpha**gamma
    if abs(gap) > 1e-6:
        assert (tau(alpha, gamma) > exact_tau(alpha, survival)) == (gap > 0)


def test_a_mixture_simulated():
    """Half of the steps at .45, half at .95. Negative control: the formula, with either mean, is far off."""
    generator = rng(11)
    lengths = np.concatenate([accepted_lengths(generator, [a] * 5, 100_000) for a in (0.45, 0.95)])
    full = float((lengths == 5).mean())
    alpha = lengths.sum() / (lengths.sum() + (lengths < 5).sum())
    assert exact_tau(alpha, full) == pytest.approx(1 + lengths.mean(), abs=ROUNDING)
    assert agrees(lengths + 1, 3.551)
    assert alpha == pytest.approx(0.8086, abs=0.002)
    assert not agrees(lengths + 1, tau(0.8086, 5))
    assert not agrees(lengths + 1, tau(0.7, 5))


def timeline(generator, gamma, c, v, usable, num_steps, aborts=True):
    """Two workers and a clock; returns seconds per step.

    The target verifies from ``now`` to ``now + v``. Meanwhile the draft makes gamma + 1 forwards for one outcome. It
    comes true with a probability; if not, the draft starts anew when the verdict is there (or, without aborts, when it
    has finished the useless draft).
    """
    now = 0.0
    for lucky in generator.random(num_steps) < usable:
        verdict, ahead = now + v, now + (gamma + 1) * c
        done = max(verdict, ahead)
        now = done if lucky else (verdict if aborts else done) + gamma * c
    return now / num_steps


@pytest.mark.parametrize(
    ("gamma", "c", "v", "usable"), [(1, 0.5, 1.0, 0.6), (3, 0.5, 1.0, 0.4), (5, 0.1, 1.2, 0.3), (4, 0.9, 1.0, 0.5)]
)
def test_drafting_ahead_on_a_clock(gamma, c, v, usable):
    """200 000 steps of two costs each: the mean is right to about their difference / 450, six times over."""
    found = (gamma * c + v) / timeline(rng(5), gamma, c, v, usable, 200_000)
    formula = ahead_speedup(gamma, c, v, usable)
    assert found == pytest.approx(formula, rel=0.015)
    if (gamma + 1) * c > v:  # negative control: a useless draft that is made to its end
        unabortable = (gamma * c + v) / timeline(rng(5), gamma, c, v, usable, 200_000, aborts=False)
        assert unabortable < formula * 0.985


@given(st.integers(1, 8), st.floats(0.0, 2.0), st.floats(1.0, 3.0), st.floats(0.0, 1.0))
def test_drafting_ahead_is_bounded(gamma, c, v, usable):
    gain = ahead_speedup(gamma, c, v, usable)
    bound = (gamma * c + v) / max(v, (gamma + 1) * c)
    assert min(1.0, bound) - ROUNDING <= gain <= max(1.0, bound) + ROUNDING
    assert ahead_speedup(gamma, c, v, 0.0) == pytest.approx(1.0)
    assert ahead_speedup(gamma, c, v, 1.0) == pytest.approx(bound)


@pytest.mark.parametrize(("batch", "context"), [(1, 512), (64, 512), (64, 8192), (64, 32768)])
def test_c_of_a_context_is_what_the_counter_of_forwards_reads(batch, context):
    """The counter adds up every array of every call; norms and the embeddings' rows are what the formula leaves out."""
    storage, cache_number = Storage("float16"), 2
    shapes = [get_shape(name) for name in ("llama3.2-1b", "llama3-70b")]

    def reads(shape, context):
        parts = count_forward(shape, 1, context, batch=batch, storage=storage, kv_bytes=cache_number)
        return sum(part.weight_bytes + part.cache_bytes for part in parts)

    def per_token(shape):
        return (reads(shape, context) - reads(shape, 0)) / (batch * context)

    known = [(reads(shape, 0), per_token(shape)) for shape in shapes]
    assert read_cost_ratio(context, batch, *known) == pytest.approx(
        reads(shapes[0], context) / reads(shapes[1], context), rel=0.01
    )
    constant = read_cost_ratio(0, batch, *known)  # negative control: the c of an empty context
    if batch == 64:
        assert read_cost_ratio(context, batch, *known) > 1.2 * constant


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: exact_tau(1.0, 1.0), "1 - alpha is 0"),
        (lambda: exact_tau(0.5, 1.5), "survival is 1.5"),
        (lambda: ahead_speedup(0, 0.1, 1.0, 0.5), "gamma is 0"),
        (lambda: ahead_speedup(2, 0.1, 1.0, 1.5), "usable is 1.5"),
        (lambda: read_cost_ratio(-1, 1, (1.0, 1.0), (1.0, 1.0)), "context is -1"),
        (lambda: read_cost_ratio(1, 1, (1.0, 1.0), (0.0, 0.0)), "what the target reads is 0"),
    ],
)
def test_bad_input_is_one_line_with_the_value(call, named):
    with pytest.raises(OptionError) as caught:
        call()
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)
