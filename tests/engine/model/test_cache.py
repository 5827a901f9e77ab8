"""The cache against lists of lists: not its lengths alone, its contents."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from minispec.engine.model.cache import KVCache
from minispec.errors import InvariantError

LAYERS, CAPACITY, HEADS, SIZE = 2, 6, 2, 3


class CacheMachine(RuleBasedStateMachine):
    """``self.slots[layer]`` lists the number that was stored in each slot in use."""

    def __init__(self):
        super().__init__()
        self.cache = KVCache(LAYERS, HEADS, SIZE, CAPACITY)
        self.slots = [[] for _ in range(LAYERS)]
        self.stamp = 0

    def stamps(self, count):
        numbers = np.arange(self.stamp, self.stamp + count, dtype=np.float32)
        self.stamp += count
        return numbers.tolist(), np.broadcast_to(numbers[:, None, None], (count, HEADS, SIZE))

    def store(self, layer, feed):
        """Write at a feed's slots; what a layer has in use there it now holds instead. Return the numbers."""
        numbers, block = self.stamps(len(feed.tokens))
        self.cache.store(layer, feed, block, -block)
        for slot, number in zip(feed.slots.tolist(), numbers, strict=True):
            if slot < len(self.slots[layer]):
                self.slots[layer][slot] = number
        return numbers

    def forward(self, feed):
        """All layers of a feed, and the count."""
        written = [self.store(layer, feed) for layer in range(feed.num_layers)]
        self.cache.extend(feed)
        for layer, numbers in enumerate(written):
            for slot, number in zip(feed.slots.tolist(), numbers, strict=True):
                if slot >= len(self.slots[layer]):
                    self.slots[layer].append(number)

    @rule(depth=st.integers(1, LAYERS), count=st.integers(0, 4), data=st.data())
    def feed_a_chain(self, depth, count, data):
        """The next free slots of the last layer that runs: the first layers may run ahead, and be written again."""
        first = len(self.slots[depth - 1])
        count = min(count, CAPACITY - first)
        wanted = data.draw(st.none() | st.integers(0, count))
        feed = self.cache.feed(list(range(count)), num_layers=depth, num_logits=wanted)
        assert feed.tokens.tolist() == list(range(count))
        assert feed.pages.tolist() == [[0]] * count
        assert feed.slots.tolist() == feed.positions.tolist() == list(range(first, first + count))
        assert feed.ends.tolist() == list(range(first + 1, first + count + 1))
        assert feed.visible is None
        assert (feed.num_layers, feed.num_logits) == (depth, count if wanted is None else wanted)
        self.forward(feed)

    @rule(count=st.integers(1, 3), wider=st.integers(0, 2))
    def feed_with_a_mask(self, count, wider):
        """Positions of their own, and up to the last slot in sight of every token, as far as the mask lets it see."""
        first = len(self.slots[-1])
        if first + count > CAPACITY:
            return
        mask = np.ones((count, first + count + wider), bool)
        feed = self.cache.feed([5] * count, positions=[3] * count, visible=mask)
        assert (feed.positions.tolist(), feed.ends.tolist()) == ([3] * count, [first + count] * count)
        assert feed.visible is mask
        self.forward(feed)

    @rule(count=st.integers(1, 4), layers=st.integers(1, LAYERS))
    def interrupted_forward(self, count, layers):
        """Some layers, or all of them, are written, and the feed is never counted in."""
        count = min(count, CAPACITY - len(self.slots[-1]))
        feed = self.cache.feed([0] * count)
        for layer in range(layers):
            self.store(layer, feed)

    @rule(more=st.integers(1, 3), depth=st.integers(1, LAYERS))
    def refuse_overflow(self, more, depth):
        count = CAPACITY - len(self.slots[depth - 1]) + more
        with pytest.raises(InvariantError, match="need slot"):
            self.cache.feed([0] * count, num_layers=depth)

    @rule(
        wrong=st.sampled_from(
            [{"num_layers": 0}, {"num_layers": LAYERS + 1}, {"num_layers": -1}, {"num_logits": -1}, {"num_logits": 2}]
        )
    )
    def refuse_counts_out_of_range(self, wrong):
        with pytest.raises(InvariantError, match="cannot run"):
            self.cache.feed([0], **wrong)

    @rule(rows=st.integers(1, 2), lacking=st.integers(0, 1))
    def refuse_a_mask_that_does_not_cover(self, rows, lacking):
        width = len(self.slots[-1]) + 1
        if width <= CAPACITY and (rows, lacking) != (1, 0):
            with pytest.raises(InvariantError, match="mask"):
                self.cache.feed([0], visible=np.ones((rows, width - lacking), bool))

    @rule(data=st.data())
    def refuse_a_gap(self, data):
        """A feed from before the cache was set back: nothing is counted in."""
        first = len(self.slots[-1])
        if 0 < first < CAPACITY:
            feed = self.cache.feed([0])
            self.roll_back(data.draw(st.integers(0, first - 1)))
            with pytest.raises(InvariantError, match="gap"):
                self.cache.extend(feed)

    @rule(length=st.integers(0, CAPACITY + 1))
    def roll_back(self, length):
        self.cache.rollback(length)
        for layer in self.slots:
            del layer[length:]

    @rule(data=st.data())
    def keep(self, data):
        common = min(len(layer) for layer in self.slots)
        kept = sorted(data.draw(st.sets(st.integers(0, common - 1)))) if common else []
        self.cache.keep(kept)
        self.slots = [[layer[slot] for slot in kept] for layer in self.slots]

    @precondition(lambda self: True)
    @rule(slots=st.lists(st.integers(-1, CAPACITY), min_size=1, max_size=3))
    def refuse_to_keep_what_is_not_there(self, slots):
        common = min(len(layer) for layer in self.slots)
        if slots != sorted(set(slots)) or slots[0] < 0 or slots[-1] >= common:
            with pytest.raises(InvariantError):
                self.cache.keep(slots)

    @rule()
    def refuse_a_negative_length(self):
        with pytest.raises(InvariantError):
            self.cache.rollback(-1)

    @invariant()
    def contents_agree(self):
        assert self.cache.lengths == [len(filled) for filled in self.slots]
        assert self.cache.length == min(self.cache.lengths)
        for layer, filled in enumerate(self.slots):
            for part, sign in ((self.cache.keys, 1.0), (self.cache.values, -1.0)):
                found = part[layer, 0, : len(filled)]
                wanted = sign * np.array(filled, np.float32)[:, None, None]
                np.testing.assert_array_equal(found, np.broadcast_to(wanted, found.shape))


TestCache = CacheMachine.TestCase
TestCache.settings = settings(max_examples=100, stateful_step_count=30)


def test_keep_moves_keys_and_values():
    cache = KVCache(2, 1, 1, 5)
    feed = cache.feed([0] * 5)
    for layer in range(2):
        block = np.arange(5, dtype=np.float32).reshape(-1, 1, 1)
        cache.store(layer, feed, block, -block)
    cache.extend(feed)
    cache.keep([0, 2, 4])
    for layer in range(2):
        assert cache.keys[layer, 0, :3, 0, 0].tolist() == [0.0, 2.0, 4.0]
        assert cache.values[layer, 0, :3, 0, 0].tolist() == [-0.0, -2.0, -4.0]
    assert cache.lengths == [3, 3]


def test_extending_by_a_feed_counts_it_in_where_it_ran():
    cache = KVCache(3, 1, 1, 9)
    cache.extend(cache.feed([0, 0], num_layers=2))
    assert cache.lengths == [2, 2, 0]
    cache.extend(cache.feed([0]))  # what a layer holds already it keeps
    assert cache.lengths == [2, 2, 1]
    behind = cache.feed([0], num_layers=2)
    with pytest.raises(InvariantError, match="gap"):
        cache.extend(dataclasses.replace(behind, num_layers=3))  # the third layer lacks a slot before
    assert cache.lengths == [2, 2, 1]
    cache.extend(cache.feed([]))
    assert cache.lengths == [2, 2, 1]
