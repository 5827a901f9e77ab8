"""Attention over the pages of the cache, group of tokens by group, stretch of slots by stretch."""

from __future__ import annotations

import functools

import numpy as np
from numba import from_dtype, prange, types

from minispec.engine.backends.panel.addresses import address_of, by_address
from minispec.engine.backends.panel.bits import narrow
from minispec.engine.backends.panel.elements import exp
from minispec.engine.backends.panel.emit import LANES, SLOTS_AHEAD
from minispec.engine.backends.panel.products import num_shares
from minispec.engine.backends.panel.sums import MAX_VECTORS, dot, scores, weighted_sum
from minispec.engine.jit import jit

TOKENS, SLOTS = 16, 16
"""Attention takes up to 16 tokens of a text through 16 slots at a time, which are 4 KiB of keys of 64 numbers."""
SCORES = 16_384
"""How many scores attention keeps at once, 64 KiB; as many heads go through the slots together as this allows."""

_ZERO, _INFINITY = np.float32(0.0), np.float32(np.inf)


@jit(nogil=True)
def split(qkv, keys, values, pages, slots):
    """Return the queries of qkv, (T, 3C), as (T, H, D); put its keys and values into (B, S, H, D), as they are kept.

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
                keys[page, slot, h, d] = narrow(qkv[t, num_heads * size + c], keys)
                values[page, slot, h, d] = narrow(qkv[t, 2 * num_heads * size + c], values)
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
def _attend(queries, keys, values, pages, ends, visible, scale, out, by_token, first_task, last_task):
    """Attend for some (head, token) pairs, numbered t * H + h if ``by_token``, otherwise h * T + t.

    A group of tokens of one text finishes a stretch of slots, head after head, before it begins the next stretch. So
    keys and values are read from memory once for all tokens of the group, in long reads; after that they are in the
    nearest cache.
    """
    num_tokens, num_heads, size = queries.shape
    stride, last_slot = num_heads * size, np.int64(0)
    for end in ends:
        last_slot = max(last_slot, end)
    most = min(num_tokens, TOKENS)
    firsts, counts = np.empty((most, last_slot + SLOTS_AHEAD), np.int64), np.empty(most, np.int64)
    ones = np.ones(last_slot, np.float32)
    in_registers = size % LANES == 0 and size // LANES <= MAX_VECTORS
    first_token, last_token, first_head, last_head = np.int64(0), num_tokens, np.int64(0), num_heads
    if by_token:
        first_token, last_token = first_task // num_heads, -(-last_task // num_heads)
    else:
        first_head, last_head = first_task // num_tokens, -(-last_task // num_tokens)
    per_head, per_token = (1, num_heads) if by_token else (num_tokens, 1)  # what a head and a token add to the number
    group = first_token
    while group < last_token:
        tokens = _count_tokens(pages, group, min(group + TOKENS, last_token))
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
                    for i in _range_tokens(h * per_head, per_token, group, tokens, first_task, last_task):
                        query = ((group + i) * num_heads + h) * size
                        stop = max(start, min(start + SLOTS, counts[i]))
                        found = weights[h - head, i]
                        if in_registers:
                            scores(queries, query, keys, firsts[i], h * size, start, stop, size, found)
                        else:
                            for s in range(start, stop):
                                found[s] = dot(queries, query, keys, firsts[i, s] + h * size, size)
            for h in heads:
                for i in _range_tokens(h * per_head, per_token, group, tokens, first_task, last_task):
                    _exponentiate(weights[h - head, i, : counts[i]], scale)
                    for d in range(size):
                        out[group + i, h, d] = _ZERO
            for start in range(0, longest, SLOTS):
                for h in heads:
                    for i in _range_tokens(h * per_head, per_token, group, tokens, first_task, last_task):
                        first = ((group + i) * num_heads + h) * size
                        stop = max(start, min(start + SLOTS, counts[i]))
                        weighted_sum(weights[h - head, i], values, firsts[i], h * size, start, stop, out, first, size)
            for h in heads:
                for i in _range_tokens(h * per_head, per_token, group, tokens, first_task, last_task):
                    total = dot(weights, ((h - head) * tokens + i) * longest, ones, 0, counts[i])
                    for d in range(size):
                        out[group + i, h, d] = out[group + i, h, d] / total
        group += tokens


@jit(nogil=True)
def _count_tokens(pages, first, last):
    """Return how many tokens from the first on are of one text, or of texts that begin alike."""
    count = 1
    while first + count < last and pages[first + count, 0] == pages[first, 0]:
        count += 1
    return count


@jit(nogil=True)
def _range_tokens(of_head, per_token, group, tokens, first_task, last_task):
    """Return which tokens of a group are ours, for a head whose tasks have the numbers of_head + t * per_token."""
    first, last = -((of_head - first_task) // per_token), -((of_head - last_task) // per_token)  # both rounded up
    return range(max(0, first - group), min(tokens, last - group))


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


def _attend_types(kept):
    """Return the types of the arguments of :func:`_attend`, for keys and values of a Numba dtype."""
    heads, cache, index, pages, visible = (
        types.Array(*kind, "C")
        for kind in ((types.float32, 3), (kept, 4), (types.int64, 1), (types.int64, 2), (types.bool_, 2))
    )
    settings = types.boolean, types.int64, types.int64
    return heads, cache, cache, pages, index, visible, types.float32, heads, *settings


call_attend = by_address(lambda given: _attend_types(given[1].dtype))


@functools.cache
def attend_for(dtype):
    """Return the address of :func:`_attend` for keys and values of a NumPy dtype; halves as their bits, int16."""
    return address_of(_attend, *_attend_types(from_dtype(dtype)))


@jit(nogil=True)
def _has_several(pages):
    """Return whether the tokens are of several texts that do not begin alike."""
    others = np.int64(0)
    for t in range(pages.shape[0]):
        others += np.int64(pages[t, 0] != pages[0, 0])
    return others > 0


@jit(nogil=True)
def _find_task(ends, num_heads, share, shares):
    """Return before which task, numbered t * H + h, so many of the equal shares of all slots to be read lie."""
    total = _add_up(ends)
    wanted, before = share * total // shares, np.int64(0)
    for t in range(ends.shape[0]):
        if before + ends[t] > wanted:
            return t * num_heads + (wanted - before) * num_heads // ends[t]
        before += ends[t]
    return ends.shape[0] * num_heads


@jit(parallel=True, nogil=True)
def attention(attend, queries, keys, values, pages, ends, visible, scale, max_threads):
    """Attend from each (token, head) to its text's slots, in slot order. Oracle: Backend.attention.

    ``attend`` is :func:`attend_for` the dtype of keys and values. An empty ``visible`` stands for none. Threads share
    the heads of one text, so that each reads its keys and values once; of several texts each thread takes some, whole
    slots, and as many slots as the others.
    """
    num_tokens, num_heads, size = queries.shape
    out = np.empty_like(queries)
    tasks = num_tokens * num_heads
    threads = num_shares(2 * num_heads * size * _add_up(ends), tasks, max_threads)
    by_token = _has_several(pages)
    shared = (queries, keys, values, pages, ends, visible, scale, out, by_token)
    if threads == 1:
        call_attend(attend, (*shared, np.int64(0), tasks))
    else:
        for i in prange(threads):
            if by_token:
                first, last = _find_task(ends, num_heads, i, threads), _find_task(ends, num_heads, i + 1, threads)
            else:
                first, last = i * tasks // threads, (i + 1) * tasks // threads
            call_attend(attend, (*shared, first, last))
    return out
