"""The distributions of several requests from one call: each request's own, whatever the others want."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minispec.errors import InvariantError
from minispec.sampling import SamplingParams, _kernels, distribution
from minispec.sampling.draw import distributions, require_finite

from .test_distribution import logit_rows, params

requests = st.lists(st.tuples(logit_rows(), params), min_size=1, max_size=5)


@settings(max_examples=200)
@given(requests)
def test_each_request_has_the_bits_that_it_has_alone(requests):
    """Vocabularies, numbers of rows and settings are mixed."""
    parts, wanted = zip(*requests, strict=True)
    for found, part, each in zip(distributions(parts, wanted), parts, wanted, strict=True):
        assert found.tobytes() == distribution(part, each).tobytes()


def _rows(size: int) -> list[np.ndarray]:
    return [np.random.default_rng(i).normal(size=(2, size)).astype(np.float32) for i in range(4)]


MIXED = [SamplingParams(0.0), SamplingParams(1.0, top_k=3), SamplingParams(0.5), SamplingParams(2.0, min_p=0.2)]


def test_settings_of_a_neighbour_are_noticed():
    """The negative control: every request but the one in the middle of three has other bits with another's settings."""
    parts = _rows(9)
    right = [each.tobytes() for each in distributions(parts, MIXED)]
    wrong = [each.tobytes() for each in distributions(parts, [*MIXED[1:], MIXED[0]])]
    assert all(ours != theirs for ours, theirs in zip(right, wrong, strict=True))


def test_rows_have_the_same_bits_by_one_thread_and_by_several():
    size = _kernels._WORTH_THREADS // 2
    with mock.patch.object(_kernels, "process_by_threads", wraps=_kernels.process_by_threads) as several:
        with mock.patch.object(_kernels.threads, "num_threads", return_value=2):
            together = distributions(_rows(size), MIXED)
        assert several.call_count == 1
        with mock.patch.object(_kernels.threads, "num_threads", return_value=1):
            one = distributions(_rows(size), MIXED)
        assert several.call_count == 1
    assert [each.tobytes() for each in together] == [each.tobytes() for each in one]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_a_broken_row_harms_no_other_request(temperature, broken):
    sampling = SamplingParams(temperature)
    parts = _rows(9)
    wanted = [distribution(part, sampling) for part in parts]
    parts[2][1, 4] = broken
    found = distributions(parts, [sampling] * 4)
    with pytest.raises(InvariantError, match=f"the largest logit is {broken}"):
        require_finite(found[2], parts[2])
    for i in (0, 1, 3):
        require_finite(found[i], parts[i])
        assert found[i].tobytes() == wanted[i].tobytes()
