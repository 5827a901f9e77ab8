"""Alpha from accepted / drafted: the interval against brute force, and its coverage computed exactly."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.errors import OptionError
from minispec.theory import alpha_from_counts, alpha_from_drafts, draft_acceptance_rate, tokens_law


@given(st.integers(1, 8), st.integers(1, 400), st.data())
def test_the_interval_has_exactly_the_alphas_that_are_not_refuted(gamma: int, steps: int, data: st.DataObject) -> None:
    drafted = gamma * steps
    accepted = data.draw(st.integers(0, drafted))
    found = alpha_from_drafts(accepted, drafted, gamma)
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0
    assert draft_acceptance_rate(found.value, gamma) == pytest.approx(accepted / drafted)
    z = NormalDist().inv_cdf(0.975)
    for alpha in np.linspace(0.0, 1.0, 51):
        allowed = z * math.sqrt(max(0.0, tokens_law(alpha, gamma).variance) / steps) / gamma
        distance = abs(accepted / drafted - draft_acceptance_rate(alpha, gamma))
        if abs(distance - allowed) > 1e-9:  # off the border
            assert (distance < allowed) == (found.low <= alpha <= found.high)


@pytest.mark.parametrize("gamma", [3, 5])
@pytest.mark.parametrize("alpha", [0.3, 0.7, 0.9])
def test_it_covers_as_often_as_it_says(gamma: int, alpha: float) -> None:
    """The law of the accepted tokens of 40 steps, by convolution."""
    steps = 40
    law = np.ones(1)
    for _ in range(steps):
        law = np.convolve(law, tokens_law(alpha, gamma).probs[1:])
    covered = wrong = 0.0
    for accepted, probability in enumerate(law):
        if probability > 1e-7:
            found = alpha_from_drafts(accepted, steps * gamma, gamma)
            covered += probability * (found.low <= alpha <= found.high)
            # Negative control: accepted / drafted taken for alpha.
            taken = alpha_from_counts(accepted, steps * gamma)
            wrong += probability * (taken.low <= alpha <= taken.high)
    assert 0.93 <= covered <= 0.97
    assert wrong < 0.5


def test_the_worksheet() -> None:
    assert alpha_from_drafts(720, 1000, 5) == pytest.approx((0.8924, 0.8678, 0.9135), abs=1e-4)


@pytest.mark.parametrize(("accepted", "drafted", "gamma"), [(2, 1, 5), (-1, 5, 5), (0, 0, 5), (1, 5, 0)])
def test_nonsense_is_refused(accepted: int, drafted: int, gamma: int) -> None:
    with pytest.raises(OptionError):
        alpha_from_drafts(accepted, drafted, gamma)
