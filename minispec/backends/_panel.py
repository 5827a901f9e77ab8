"""Beside stop 11: the fast kernels of a default run, register tiles over packed panels.

The last rung of the ladder. What is new is ``_panel_ir.multiply``: a tile of sums that never leaves the registers. All
else is plain Numba. Two rules make a row's bits independent of the other rows:

* a sum is one chain (``multiply``), or has an order that its length alone decides (``dot``, ``weighted_sum``);
* what is left is element by element, in plain IEEE operations: no ``fastmath`` here, so a loop's vector body and its
  scalar tail round alike.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numba import carray, from_dtype, prange, types

from minispec.backends._panel_ir import (
    AT_ONCE,
    LANES,
    MAX_ROWS,
    MAX_VECTORS,
    PANEL,
    SLOTS_AHEAD,
    bits_of,
    claim,
    dot,
    from_bits,
    multiply,
    pointer,
    scores,
    weighted_sum,
    widen,
)
from minispec.jit import address_of, by_address, jit

_F32 = types.float32
_VECTOR, _MATRIX = types.Array(_F32, 1, "C"), types.Array(_F32, 2, "C")

ACTIVATIONS = {None: 0, "gelu_new": 1, "gelu": 2, "relu": 3}
"""Codes of the activations, for :func:`linear`."""

PARALLEL_WORK = 60_000
"""Below so many multiply-adds a second thread costs more than it saves: a parallel region takes 1 to 2 microseconds."""

TOKENS, SLOTS = 16, 16
"""Attention takes a group of 16 tokens through 16 slots at a time, which are 4 KiB of keys of 64 numbers."""
SCORES = 16_384
"""How many scores attention keeps at once, 64 KiB; as many heads go through the slots together as this allows."""

_ONE, _HALF, _ZERO = np.float32(1.0), np.float32(0.5), np.float32(0.0)
_LOG2_E = np.float32(1.4426950408889634)
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)  # their sum is ln 2, the first has few bits
_ROUND = np.float32(12582912.0)  # 1.5 * 2**23: adding it to a small number rounds that to an integer, in the low bits
_EXP_5, _EXP_4, _EXP_3 = np.float32(1.9875691500e-4), np.float32(1.3981999507e-3), np.float32(8.3334519073e-3)
_EXP_2, _EXP_1, _EXP_0 = np.float32(4.1665795894e-2), np.float32(1.6666665459e-1), np.float32(5.0000001201e-1)
_EXP_MIN, _EXP_MAX = np.float32(-87.0), np.float32(88.0)
_INFINITY = np.float32(np.inf)
_GELU_A, _GELU_B = np.float32(2.0 * math.sqrt(2.0 / math.pi)), np.float32(0.044715)
_SQRT_HALF = np.float32(math.sqrt(0.5))


@jit(nogil=True)
def num_shares(work, parts, max_threads):
    """Return how many threads share this work, counted in multiply-adds; more than one is a parallel region."""
    return max(1, min(max_threads, parts)) if work >= PARALLEL_WORK else 1


@jit(nogil=True)
def exp(x):
    """Return e**x in float32, to 2 units in the last place; 0 below -87, infinite above 88, NaN for NaN.

    x = n ln 2 + r with abs(r) <= ln 2 / 2: e**r by the Cephes library's polynomial, 2**n by writing n into the
    exponent.
    """
    shifted = x * _LOG2_E + _ROUND
    n = shifted - _ROUND
    r = x - n * _LN2_HIGH - n * _LN2_LOW
    p = ((((_EXP_5 * r + _EXP_4) * r + _EXP_3) * r + _EXP_2) * r + _EXP_1) * r + _EXP_0
    power = from_bits(np.int32((bits_of(shifted) << np.int32(23)) + np.int32(0x3F800000)))
    y = (p * r * r + r + _ONE) * power
    y = _ZERO if x < _EXP_MIN else y
    return _INFINITY if x > _EXP_MAX else y


@jit(nogil=True)
def activate(x, activation):
    """Apply an activation to each element of a 1-D array, in place. Oracle: Backend.activation."""
    if activation == 1:
        for i in range(x.shape[0]):
            v = x[i]
            x[i] = v / (_ONE + exp(-_GELU_A * (v + _GELU_B * v * v * v)))
    elif activation == 2:
        for i in range(x.shape[0]):
            x[i] = x[i] * _HALF * (_ONE + np.float32(math.erf(x[i] * _SQRT_HALF)))
    elif activation == 3:
        for i in range(x.shape[0]):
            x[i] = max(x[i], _ZERO)


@jit(nogil=True)
def normalise(x, weight, bias, epsilon, y):
    """Write the layer norm of each row of x, (T, C), into y. Oracle: Backend.layer_norm."""
    num_rows, width = x.shape
    ones = np.ones(width, np.float32)
    for t in range(num_rows):
        first = t * width
        mean = dot(x, first, ones, 0, width) / np.float32(width)
        for c in range(width):
            y[t, c] = x[t, c] - mean
        scale = _ONE / np.sqrt(dot(y, first, y, first, width) / np.float32(width) + epsilon)
        for c in range(width):
            y[t, c] = y[t, c] * scale * weight[c] + bias[c]


@jit(nogil=True)
def find_piece(number, num_panels, threads, together):
    """Find a piece of work: return its first panel and the one after its last. Pieces beyond the last are empty.

    Seven eighths of the panels are one large piece for each thread, the rest small ones: a thread that is held up, or
    that reads from slower memory, leaves them to the others.
    """
    large = num_panels if threads == 1 else 7 * num_panels // (8 * threads)
    if number < threads:
        return number * large, (number + 1) * large
    first = min(threads * large + (number - threads) * together, num_panels)
    return first, min(first + together, num_panels)


@jit(nogil=True)
def _columns(x, panels, scale, bias, activation, residual, y, thread, threads, claimed):
    """Compute the columns of some pieces for all rows, panel by panel, so that each weight is read once.

    A thread's first piece has the thread's number; it claims the others. It claims each one before it begins the piece
    before, in time to prefetch the weights.
    """
    num_rows, num_outputs = y.shape
    num_panels = panels.shape[0]
    num_blocks = -(-num_rows // MAX_ROWS)  # of nearly the same number of rows
    together = AT_ONCE[panels.itemsize - 1][num_rows] if num_blocks == 1 else 1
    edge = np.empty((MAX_ROWS, PANEL), np.float32)  # for a last panel that is wider than what is left of y
    first_panel, last_panel = find_piece(thread, num_panels, threads, together)
    while first_panel < num_panels:
        next_first, next_last = find_piece(threads + claim(claimed), num_panels, threads, together)
        panel = first_panel
        while panel < last_panel:
            column = panel * PANEL
            count = together if panel + together <= last_panel and column + together * PANEL <= num_outputs else 1
            following = panel + count if panel + count < last_panel else next_first
            fits = column + PANEL <= num_outputs
            for block in range(num_blocks):
                start = block * num_rows // num_blocks
                rows = (block + 1) * num_rows // num_blocks - start
                if fits:
                    multiply(x, start, rows, panels, panel, count, following, y, start, column)
                else:
                    multiply(x, start, rows, panels, panel, 1, following, edge, 0, 0)
                    for m in range(rows):
                        for n in range(num_outputs - column):
                            y[start + m, column + n] = edge[m, n]
            panel += count
        first, last = first_panel * PANEL, min(last_panel * PANEL, num_outputs)
        for t in range(num_rows):
            _finish(y[t, first:last], scale, bias, activation, residual, t, first)
        first_panel, last_panel = next_first, next_last


@jit(nogil=True)
def _finish(out, scale, bias, activation, residual, row, first):
    """Turn sums into outputs, in place: times the scale of the column, plus bias, activation, plus residual."""
    if scale.size:
        for n in range(out.shape[0]):
            out[n] = out[n] * scale[first + n]
    for n in range(out.shape[0]):
        out[n] = out[n] + bias[first + n]
    activate(out, activation)
    if residual.size:
        for n in range(out.shape[0]):
            out[n] = out[n] + residual[row, first + n]


def _columns_types(panels):
    """Return the types of the arguments of :func:`_columns`, for panels of a Numba dtype."""
    panels, claimed = types.Array(panels, 3, "C"), types.Array(types.int64, 1, "C")
    return _MATRIX, panels, _VECTOR, _VECTOR, types.int64, _MATRIX, _MATRIX, types.int64, types.int64, claimed


call_columns = by_address(lambda given: _columns_types(given[1].dtype))


@functools.cache
def columns_for(dtype):
    """Return the address of :func:`_columns` for panels of a NumPy dtype."""
    return address_of(_columns, *_columns_types(from_dtype(dtype)))


@jit(parallel=True, nogil=True)
def linear(
    x, norm_weight, norm_bias, epsilon, columns, panels, scale, bias, activation, residual, num_outputs, max_threads
):
    """Return activation(norm(x) @ W + bias) + residual, (T, N), for ``panels`` of shape (P, K, PANEL).

    ``columns`` is :func:`columns_for` the panels' dtype. An empty ``norm_weight``, ``scale`` or ``residual`` stands for
    none. Oracle: Backend.linear.
    """
    num_rows, num_inputs = x.shape
    y = np.empty((num_rows, num_outputs), np.float32)
    normed = x
    if norm_weight.size:
        normed = np.empty((num_rows, num_inputs), np.float32)
        normalise(x, norm_weight, norm_bias, epsilon, normed)
    claimed = np.empty(1, np.int64)
    claimed[0] = 0
    threads = num_shares(num_inputs * num_outputs * num_rows, panels.shape[0], max_threads)
    if threads == 1:
        call_columns(columns, (normed, panels, scale, bias, activation, residual, y, np.int64(0), threads, claimed))
    else:
        for thread in prange(threads):
            call_columns(columns, (normed, panels, scale, bias, activation, residual, y, thread, threads, claimed))
    return y


@jit(nogil=True)
def split(qkv, keys, values, pages, slots):
    """Return the queries of qkv, (T, 3C), as (T, H, D); put its keys and values into (B, S, H, D).

    Oracle: Backend.project.
    """
    num_tokens, (num_heads, size) = qkv.shape[0], keys.shape[2:]
    queries = np.empty((num_tokens, num_heads, size), np.float32)
    for t in range(num_tokens):
        page, slot = pages[t, slots[t] // keys.shape[1]], slots[t] % keys.shape[1]
        for h in range(num_heads):
            for d in range(size):
                c = h * size + d
                queries[t, h, d] = qkv[t, c]
                keys[page, slot, h, d] = qkv[t, num_heads * size + c]
                values[page, slot, h, d] = qkv[t, 2 * num_heads * size + c]
    return queries


@jit(nogil=True)
def _find_largest(values):
    """Return the largest of some values.

    Four at a time: one chain of comparisons would take as long as the dot products that made them.
    """
    a = b = c = d = -_INFINITY
    count = values.shape[0]
    whole = count - count % 4
    for i in range(0, whole, 4):
        a = values[i] if values[i] > a else a
        b = values[i + 1] if values[i + 1] > b else b
        c = values[i + 2] if values[i + 2] > c else c
        d = values[i + 3] if values[i + 3] > d else d
    for i in range(whole, count):
        a = values[i] if values[i] > a else a
    a = b if b > a else a
    c = d if d > c else c
    return c if c > a else a


@jit(nogil=True)
def _list_slots(pages, size, end, visible, t, stride, firsts):
    """List where the slots that token t sees begin in a head's keys or values; return how many they are."""
    count = np.int64(0)
    for start in range(0, end, size):
        first = pages[t, start // size] * size - start
        for s in range(start, min(start + size, end)):
            firsts[count] = (first + s) * stride
            # an invisible slot may hold anything, so it is left out, not weighted by 0
            count += np.int64(visible[t, s]) if visible.size else np.int64(1)
    return count


@jit(nogil=True)
def _attend(queries, keys, values, pages, ends, visible, scale, out, first_task, last_task):
    """Attend for some (head, token) pairs, numbered h * T + t.

    A group of tokens finishes a stretch of slots, head after head, before it begins the next stretch. So keys and
    values are read from memory once for all tokens of the group, in long reads; after that they are in the nearest
    cache.
    """
    num_tokens, num_heads, size = queries.shape
    stride, last_slot = num_heads * size, np.int64(0)
    for end in ends:
        last_slot = max(last_slot, end)
    most = min(num_tokens, TOKENS)
    firsts, counts = np.empty((most, last_slot + SLOTS_AHEAD), np.int64), np.empty(most, np.int64)
    ones = np.ones(last_slot, np.float32)
    in_registers = size % LANES == 0 and size // LANES <= MAX_VECTORS
    first_head, last_head = first_task // num_tokens, -(-last_task // num_tokens)
    for group in range(0, num_tokens, TOKENS):
        tokens = min(TOKENS, num_tokens - group)
        longest = np.int64(0)
        for i in range(tokens):
            t = group + i
            counts[i] = _list_slots(pages, keys.shape[1], ends[t], visible, t, stride, firsts[i])
            longest = max(longest, counts[i])
        together = max(1, min(last_head - first_head, SCORES // max(1, tokens * longest)))
        weights = np.empty((together, tokens, longest), np.float32)
        for head in range(first_head, last_head, together):
            heads = range(head, min(head + together, last_head))
            for start in range(0, longest, SLOTS):
                for h in heads:
                    for i in _range_tokens(h, group, tokens, num_tokens, first_task, last_task):
                        query = ((group + i) * num_heads + h) * size
                        stop = max(start, min(start + SLOTS, counts[i]))
                        found = weights[h - head, i]
                        if in_registers:
                            scores(queries, query, keys, firsts[i], h * size, start, stop, size, found)
                        else:
                            for s in range(start, stop):
                                found[s] = dot(queries, query, keys, firsts[i, s] + h * size, size)
            for h in heads:
                for i in _range_tokens(h, group, tokens, num_tokens, first_task, last_task):
                    _exponentiate(weights[h - head, i, : counts[i]], scale)
                    for d in range(size):
                        out[group + i, h, d] = _ZERO
            for start in range(0, longest, SLOTS):
                for h in heads:
                    for i in _range_tokens(h, group, tokens, num_tokens, first_task, last_task):
                        first = ((group + i) * num_heads + h) * size
                        stop = max(start, min(start + SLOTS, counts[i]))
                        weighted_sum(weights[h - head, i], values, firsts[i], h * size, start, stop, out, first, size)
            for h in heads:
                for i in _range_tokens(h, group, tokens, num_tokens, first_task, last_task):
                    total = dot(weights, ((h - head) * tokens + i) * longest, ones, 0, counts[i])
                    for d in range(size):
                        out[group + i, h, d] = out[group + i, h, d] / total


@jit(nogil=True)
def _range_tokens(head, group, tokens, num_tokens, first_task, last_task):
    """Return which tokens of a group are ours for a head; others may have the rest of our first and last head."""
    first = head * num_tokens + group
    return range(max(0, first_task - first), min(tokens, last_task - first))


@jit(nogil=True)
def _exponentiate(weights, scale):
    """Replace scores by exp(scale * score - the largest of these), in place."""
    for i in range(weights.shape[0]):
        weights[i] = weights[i] * scale
    largest = _find_largest(weights)
    for i in range(weights.shape[0]):
        weights[i] = exp(weights[i] - largest)


@jit(nogil=True)
def _add_up(counts):
    """Add up some counts; with ``parallel=True`` Numba would turn ``sum`` into a parallel region of its own."""
    total = 0
    for count in counts:
        total += count
    return total


_HEADS, _CACHE, _INDEX = (types.Array(*kind, "C") for kind in ((_F32, 3), (_F32, 4), (types.int64, 1)))
_BLOCKS = types.Array(types.int64, 2, "C")
_ATTEND_TYPES = (
    _HEADS,
    _CACHE,
    _CACHE,
    _BLOCKS,
    _INDEX,
    types.Array(types.bool_, 2, "C"),
    _F32,
    _HEADS,
    types.int64,
    types.int64,
)
call_attend = by_address(lambda given: _ATTEND_TYPES)


@functools.cache
def attend_at():
    """Return the address of :func:`_attend`."""
    return address_of(_attend, *_ATTEND_TYPES)


@jit(parallel=True, nogil=True)
def attention(attend, queries, keys, values, pages, ends, visible, scale, max_threads):
    """Attend from each (token, head) to its text's slots, in slot order. Oracle: Backend.attention.

    ``attend`` is the address of :func:`_attend`. An empty ``visible`` stands for none.
    """
    num_tokens, num_heads, size = queries.shape
    out = np.empty_like(queries)
    tasks = num_tokens * num_heads
    threads = num_shares(2 * num_heads * size * _add_up(ends), tasks, max_threads)
    if threads == 1:
        call_attend(attend, (queries, keys, values, pages, ends, visible, scale, out, np.int64(0), tasks))
    else:
        for i in prange(threads):
            first, last = i * tasks // threads, (i + 1) * tasks // threads
            call_attend(attend, (queries, keys, values, pages, ends, visible, scale, out, first, last))
    return out


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
    return x
