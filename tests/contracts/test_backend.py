"""The backend contract: all backends honour it, and broken ones do not."""

from __future__ import annotations

import numpy as np
import pytest

from minispec.backends import BACKENDS, GPU_BACKENDS, NumpyBackend, get_backend
from minispec.contracts.backend import check_batch_invariance, check_reference
from minispec.errors import InputError, InvariantError


@pytest.fixture(params=[*BACKENDS, *(pytest.param(name, marks=pytest.mark.gpu) for name in GPU_BACKENDS)])
def backend(request):
    try:
        return get_backend(request.param)
    except InputError as error:
        if request.param in BACKENDS:
            raise
        pytest.skip(str(error))


def test_backends_agree_with_the_reference(backend):
    check_reference(backend)


def test_a_backend_that_declares_batch_invariance_has_it(backend):
    if backend.batch_invariant:
        check_batch_invariance(backend)


def test_some_backend_declares_batch_invariance():
    assert any(get_backend(name).batch_invariant for name in BACKENDS)


class LeakyNorm(NumpyBackend):
    """Normalises with the mean of all rows: what padding and batching bugs look like."""

    def layer_norm(self, x, norm):
        return super().layer_norm(x - np.float32(1e-3) * x.mean(), norm) + np.float32(1e-6) * x.mean()


class ForgetsTheResidual(NumpyBackend):
    def linear(self, x, matrix, *, norm=None, activation=None, residual=None):
        return super().linear(x, matrix, norm=norm, activation=activation)


class IgnoresTheMask(NumpyBackend):
    def attention(self, queries, keys, values, rows, ends, visible, scale):
        return super().attention(queries, keys, values, rows, ends, None, scale)


class ReadsTheWrongRow(NumpyBackend):
    def attention(self, queries, keys, values, rows, ends, visible, scale):
        return super().attention(queries, keys, values, 0 * rows, ends, visible, scale)


class DoublePrecision(NumpyBackend):
    def activation(self, x, name):
        return super().activation(x, name).astype(np.float64)


@pytest.mark.parametrize("broken", [ForgetsTheResidual, IgnoresTheMask, ReadsTheWrongRow, DoublePrecision])
def test_a_broken_backend_is_told_apart(broken):
    with pytest.raises(InvariantError):
        check_reference(broken())


def test_a_row_that_depends_on_its_neighbours_is_told_apart():
    with pytest.raises(InvariantError, match=r"layer_norm.*other bits"):
        check_batch_invariance(LeakyNorm())
