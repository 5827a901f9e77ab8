"""A forward's ends: embeddings, and all layers in one call."""

from __future__ import annotations

import numpy as np
from numba import carray

from minispec.engine.backends.panel.attention import attention, split
from minispec.engine.backends.panel.bits import pointer, widen
from minispec.engine.backends.panel.emit import PANEL
from minispec.engine.backends.panel.products import linear
from minispec.engine.jit import jit

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)


@jit(nogil=True)
def embed(panels, scale, num_tokens, wpe, tokens, positions):
    """Return token plus position embeddings, (T, C), from a table packed as a head is. Oracle: Backend.embed."""
    width = panels.shape[1]
    out = np.empty((tokens.shape[0], width), np.float32)
    for t in range(tokens.shape[0]):
        token, position = tokens[t], positions[t]
        if not (0 <= token < num_tokens and 0 <= position < wpe.shape[0]):
            raise IndexError("a token or position lies outside its table")
        factor = scale[token] if scale.size else _ONE
        for c in range(width):
            out[t, c] = widen(panels[token // PANEL, c, token % PANEL]) * factor + wpe[position, c]
    return out


@jit(nogil=True)
def _vector(address, size):
    """Return the float32 numbers that begin at an address."""
    return carray(pointer(address), (size,), np.float32)


@jit(nogil=True)
def _matrix(addresses, num_inputs, num_outputs, empty_panels, scaled):
    """Return panels, scale and bias of a packed matrix, from where they begin."""
    shape = (-(-num_outputs // PANEL), num_inputs, PANEL)
    panels = carray(pointer(addresses[0]), shape, empty_panels.dtype)
    return panels, _vector(addresses[1], num_outputs if scaled else 0), _vector(addresses[2], num_outputs)


@jit(nogil=True)
def _keep(x, states, pages, slots):
    """Write rows of shape (T, C) to their slots of (B, S, C). Oracle: Features.store."""
    size = states.shape[1]
    for t in range(x.shape[0]):
        states[pages[t, slots[t] // size], slots[t] % size] = x[t]


@jit(nogil=True)
def layers(
    x,
    columns,
    attend,
    addresses,
    epsilons,
    scales,
    empty_panels,
    scaled,
    num_inner,
    num_layers,
    activation,
    keys,
    values,
    feature_layers,
    features,
    pages,
    slots,
    ends,
    visible,
    max_threads,
):
    """Run the first layers, one call for all of them. Oracle: model.forward.layers.

    Memory would be idle between calls from Python; and the weights have driven from the caches what Python needs for a
    call.

    Parameters
    ----------
    columns, attend : int
        See :func:`linear` and :func:`attention`.
    addresses : ndarray of shape (L, 16), int64
        Where the arrays begin: weight and bias of both norms, then panels, scale and bias of each of the four matrices.
    epsilons : ndarray of shape (L, 2)
    scales : ndarray of shape (L,)
        What multiplies the attention scores of each layer.
    empty_panels : ndarray of shape (0, 0, 0)
        An array of the panels' dtype.
    scaled : bool
        Whether the matrices have scales.
    feature_layers, features : ndarray of shape (F,), and (F, B, S, C)
        See :class:`minispec.engine.backends.types.Features`.
    """
    no_vector, no_matrix, plain = np.empty(0, np.float32), np.empty((0, 0), np.float32), np.int64(0)
    width = x.shape[1]
    for layer in range(num_layers):
        at, epsilon = addresses[layer], epsilons[layer]
        norm, shift = _vector(at[0], width), _vector(at[1], width)
        panels, scale, bias = _matrix(at[4:7], width, 3 * width, empty_panels, scaled)
        qkv = linear(x, norm, shift, epsilon[0], columns, panels, scale, bias, plain, no_matrix, 3 * width, max_threads)
        queries = split(qkv, keys[layer], values[layer], pages, slots)
        heads = attention(attend, queries, keys[layer], values[layer], pages, ends, visible, scales[layer], max_threads)
        panels, scale, bias = _matrix(at[7:10], width, width, empty_panels, scaled)
        heads = heads.reshape(x.shape)
        x = linear(heads, no_vector, no_vector, _ZERO, columns, panels, scale, bias, plain, x, width, max_threads)

        norm, shift = _vector(at[2], width), _vector(at[3], width)
        panels, scale, bias = _matrix(at[10:13], width, num_inner, empty_panels, scaled)
        hidden = linear(
            x, norm, shift, epsilon[1], columns, panels, scale, bias, activation, no_matrix, num_inner, max_threads
        )
        panels, scale, bias = _matrix(at[13:16], num_inner, width, empty_panels, scaled)
        x = linear(hidden, no_vector, no_vector, _ZERO, columns, panels, scale, bias, plain, x, width, max_threads)
        for i in range(feature_layers.shape[0]):
            if feature_layers[i] == layer + 1:
                _keep(x, features[i], pages, slots)
    return x
