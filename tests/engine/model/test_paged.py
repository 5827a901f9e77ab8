"""Pages against contiguous rows: the same contents whatever is shared, copied and given back, and nothing leaks."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from minispec.engine.backends.base import NumpyBackend
from minispec.engine.model.cache import KVCache
from minispec.engine.model.paged import PagedCache
from minispec.engine.model.pages import OutOfPagesError, PagePool
from minispec.errors import InvariantError

LAYERS, CAPACITY, SIZE, PAGES, TEXTS = 2, 11, 3, 7, 3


class PagesMachine(RuleBasedStateMachine):
    """Each text has a paged cache and a contiguous one; a slot holds a number that its whole prefix decides."""

    kv_dtype = "float32"

    def __init__(self):
        super().__init__()
        self.pool = PagePool(LAYERS, 1, 1, PAGES, SIZE, backend=NumpyBackend(), kv_dtype=self.kv_dtype)
        self.caches = [PagedCache(self.pool, CAPACITY) for _ in range(TEXTS)]
        self.oracles = [KVCache(LAYERS, 1, 1, CAPACITY, kv_dtype=self.kv_dtype) for _ in range(TEXTS)]
        self.texts = [[] for _ in range(TEXTS)]
        self.ahead = [0] * TEXTS  # tokens by which the first layer is ahead
        self.is_prefix = [True] * TEXTS
        self.ever_published = set()

    def write(self, i, tokens, depth):
        cache, oracle = self.caches[i], self.oracles[i]
        cache.rollback(len(self.texts[i]))
        oracle.rollback(len(self.texts[i]))
        try:
            feed = cache.feed(tokens, num_layers=depth)
        except OutOfPagesError:
            cache.rollback(len(self.texts[i]))
            return False
        text = [*self.texts[i], *tokens]
        numbers = [float(hash(tuple(text[: k + 1])) % 100_003) for k in range(len(text) - len(tokens), len(text))]
        block = np.array(numbers, np.float32).reshape(-1, 1, 1)
        for each, fed in ((cache, feed), (oracle, oracle.feed(tokens, num_layers=depth))):
            for layer in range(depth):
                each.store(layer, fed, block + layer, -block)
            each.extend(fed)
        return True

    @rule(i=st.integers(0, TEXTS - 1), tokens=st.lists(st.integers(0, 1), max_size=5))
    def feed(self, i, tokens):
        tokens = tokens[: CAPACITY - len(self.texts[i])]
        if self.write(i, tokens, LAYERS):
            self.texts[i] += tokens
            self.ahead[i] = 0

    @rule(i=st.integers(0, TEXTS - 1), tokens=st.lists(st.integers(0, 1), max_size=4))
    def feed_the_first_layer(self, i, tokens):
        tokens = tokens[: CAPACITY - len(self.texts[i])]
        self.ahead[i] = len(tokens) if self.write(i, tokens, 1) else 0

    @rule(i=st.integers(0, TEXTS - 1), length=st.integers(0, CAPACITY))
    def rollback(self, i, length):
        for cache in (self.caches[i], self.oracles[i]):
            cache.rollback(length)
        self.ahead[i] = min(self.ahead[i], max(0, length - len(self.texts[i])))
        del self.texts[i][length:]
        self.is_prefix[i] |= length == 0

    @rule(i=st.integers(0, TEXTS - 1), data=st.data())
    def keep(self, i, data):
        """A tree's accepted path: some slots go, the others move up. What they then hold is no prefix's."""
        length = len(self.texts[i])
        kept = sorted(data.draw(st.sets(st.integers(0, max(0, length - 1)), max_size=length))) if length else []
        self.is_prefix[i] &= kept == list(range(len(kept)))
        for cache in (self.caches[i], self.oracles[i]):
            cache.rollback(length)
            cache.keep(kept)
        del self.texts[i][len(kept) :]
        self.ahead[i] = 0

    @rule(i=st.integers(0, TEXTS - 1))
    def publish(self, i):
        if not self.is_prefix[i]:
            return
        self.caches[i].publish(self.texts[i])
        whole = len(self.texts[i]) // SIZE * SIZE
        self.ever_published |= {tuple(self.texts[i][:end]) for end in range(SIZE, whole + 1, SIZE)}

    @rule(i=st.integers(0, TEXTS - 1), back=st.integers(1, SIZE), tokens=st.lists(st.integers(0, 1), min_size=1))
    def write_to_what_is_published(self, i, back, tokens):
        """Whose pages others may take up: they must be copied first."""
        self.publish(i)
        self.rollback(i, max(0, len(self.texts[i]) - back))
        self.feed(i, tokens)

    @rule(i=st.integers(0, TEXTS - 1), tokens=st.lists(st.integers(0, 1), max_size=CAPACITY))
    def begin_like_another(self, i, tokens):
        self.rollback(i, 0)
        count = self.caches[i].adopt(tokens)
        assert count % SIZE == 0
        assert not count or tuple(tokens[:count]) in self.ever_published
        self.oracles[i].rollback(0)
        self.texts[i] = []
        oracle, text = self.oracles[i], tokens[:count]
        feed = oracle.feed(text)
        numbers = [float(hash(tuple(text[: k + 1])) % 100_003) for k in range(count)]
        block = np.array(numbers, np.float32).reshape(-1, 1, 1)
        for layer in range(LAYERS):
            oracle.store(layer, feed, block + layer, -block)
        oracle.extend(feed)
        self.texts[i], self.ahead[i] = text, 0

    @invariant()
    def contents_are_those_of_a_contiguous_row(self):
        for cache, oracle in zip(self.caches, self.oracles, strict=True):
            assert cache.lengths == oracle.lengths
            for layer, length in enumerate(cache.lengths):
                for ours, theirs in ((cache.keys, oracle.keys), (cache.values, oracle.values)):
                    found = ours[layer, cache.pages].reshape(-1)[:length]
                    assert found.tolist() == theirs[layer, 0, :length].reshape(-1).tolist()

    @invariant()
    def no_page_is_lost_and_none_is_wasted(self):
        held = Counter(page for cache in self.caches for page in cache._table)
        assert self.pool.num_free == PAGES - len(held)
        for cache in self.caches:
            assert len(cache._table) == -(-cache.lengths[0] // SIZE)
            assert cache.pages.tolist() == (cache._table or [0])  # an array that is kept from call to call


class HalfPagesMachine(PagesMachine):
    """The same in half the bytes."""

    kv_dtype = "float16"


TestPages, TestHalfPages = PagesMachine.TestCase, HalfPagesMachine.TestCase
TestPages.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestHalfPages.settings = settings(max_examples=15, stateful_step_count=40, deadline=None)


def new_pool(num_pages=4):
    return PagePool(1, 1, 1, num_pages, 2, backend=NumpyBackend())


def test_a_pool_beside_another_is_cleared_with_it():
    """And its pages count: a head of the model holds rows for the same texts."""
    pool = PagePool(2, 1, 4, 6, 4, backend=NumpyBackend())
    beside = pool.open_beside(1, 2, 3, num_more=2)
    assert beside.keys.shape == (1, 8, 4, 2, 3)
    beside.take()
    assert (pool.num_free, beside.num_free, pool.all_free) == (6, 7, False)
    pool.clear()
    assert (beside.num_free, pool.all_free) == (8, True)
    pool.take()
    assert not pool.all_free


def test_a_page_that_is_shared_is_copied_before_it_is_written_to():
    pool = new_pool()
    first, second = PagedCache(pool, 8), PagedCache(pool, 8)
    feed = first.feed([1, 2])
    first.store(0, feed, np.array([[[1.0]], [[2.0]]]), np.zeros((2, 1, 1)))
    first.extend(feed)
    first.publish([1, 2])
    assert second.adopt([1, 2, 3]) == 2
    second.rollback(1)
    feed = second.feed([9])
    second.store(0, feed, np.array([[[9.0]]]), np.zeros((1, 1, 1)))
    assert first.keys[0, first.pages].reshape(-1).tolist() == [1.0, 2.0]
    assert second.keys[0, second.pages].reshape(-1).tolist() == [1.0, 9.0]


def test_the_page_that_was_free_longest_is_forgotten_first():
    pool = new_pool(2)
    for text in ([1, 2], [3, 4]):
        cache = PagedCache(pool, 8)
        feed = cache.feed(text)
        cache.extend(feed)
        cache.publish(text)
        cache.rollback(0)
    assert pool.num_free == 2
    pool.take()
    assert pool.share([1, 2]) == []
    assert len(pool.share([3, 4])) == 1


def test_what_must_not_happen_is_refused():
    pool = new_pool(1)
    page = pool.take()
    with pytest.raises(OutOfPagesError):
        pool.take()
    pool.give_back(page)
    with pytest.raises(InvariantError, match="does not hold it"):
        pool.give_back(page)
    cache = PagedCache(pool, 8)
    cache.feed([1])
    with pytest.raises(InvariantError, match="only an empty cache"):
        cache.adopt([1, 2])
