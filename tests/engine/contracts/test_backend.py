"""The backend contract: all backends honour it, and broken ones do not."""

from __future__ import annotations

import numpy as np
import pytest

from minispec.engine.backends import BACKENDS, GPU_BACKENDS, NumpyBackend, get_backend
from minispec.engine.laws.backend import check_batch_invariance, check_layers, check_reference
from minispec.engine.model.forward import layers
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


@pytest.mark.parametrize("name", BACKENDS)
def test_all_layers_together_are_their_operations(name):
    check_layers(get_backend(name))


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
    def attention(self, queries, keys, values, pages, ends, visible, scale):
        return super().attention(queries, keys, values, pages, ends, None, scale)


class ReadsTheWrongRow(NumpyBackend):
    def attention(self, queries, keys, values, pages, ends, visible, scale):
        return super().attention(queries, keys, values, 0 * pages, ends, visible, scale)


class DoublePrecision(NumpyBackend):
    def activation(self, x, name):
        return super().activation(x, name).astype(np.float64)


class RefusesNoRows(NumpyBackend):
    def linear(self, x, matrix, **fused):
        return super().linear(x if len(x) else np.zeros((1, x.shape[1]), np.float32), matrix, **fused)


class InOneCall(NumpyBackend):
    """All layers in one call, rightly: the control of the controls."""

    def fuses(self, blocks):
        return True

    def layers(self, x, blocks, cache, feed, scale, activation):
        return layers(self, x, blocks, cache, feed, scale, activation)


class SkipsALayer(InOneCall):
    def layers(self, x, blocks, cache, feed, scale, activation):
        y = super().layers(x, blocks, cache, feed, scale, activation)
        return y if feed.num_layers == len(blocks) else x


class ForgetsToStore(InOneCall):
    def layers(self, x, blocks, cache, feed, scale, activation):
        before = cache.values.copy()
        y = super().layers(x, blocks, cache, feed, scale, activation)
        if feed.visible is not None:
            cache.values[:] = before
        return y


@pytest.mark.parametrize(("broken", "what"), [(SkipsALayer, "other bits"), (ForgetsToStore, "other values")])
def test_layers_that_are_not_their_operations_are_told_apart(broken, what):
    check_layers(InOneCall())
    with pytest.raises(InvariantError, match=what):
        check_layers(broken())


@pytest.mark.parametrize(
    "broken", [RefusesNoRows, ForgetsTheResidual, IgnoresTheMask, ReadsTheWrongRow, DoublePrecision]
)
def test_a_broken_backend_is_told_apart(broken):
    with pytest.raises(InvariantError):
        check_reference(broken())


def test_a_row_that_depends_on_its_neighbours_is_told_apart():
    with pytest.raises(InvariantError, match=r"layer_norm.*other bits"):
        check_batch_invariance(LeakyNorm())
