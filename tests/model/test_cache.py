"""The cache against lists of lists: not its lengths alone, its contents."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from minispec.errors import InvariantError
from minispec.model.cache import KVCache

LAYERS, ROWS, CAPACITY, HEADS, SIZE = 2, 2, 6, 2, 3


class CacheMachine(RuleBasedStateMachine):
    """``self.slots[layer][row]`` lists the number that was stored in each slot in use."""

    def __init__(self):
        super().__init__()
        self.cache = KVCache(LAYERS, HEADS, SIZE, CAPACITY, ROWS)
        self.slots = [[[] for _ in range(ROWS)] for _ in range(LAYERS)]
        self.stamp = 0

    def stamps(self, count):
        numbers = np.arange(self.stamp, self.stamp + count, dtype=np.float32)
        self.stamp += count
        return numbers, np.broadcast_to(numbers[:, None, None], (count, HEADS, SIZE))

    @rule(layer=st.integers(0, LAYERS - 1), row=st.integers(0, ROWS - 1), count=st.integers(0, 4))
    def store_a_chain(self, layer, row, count):
        """The next free slots of one layer: layers may run ahead of each other."""
        filled = self.slots[layer][row]
        count = min(count, CAPACITY - len(filled))
        numbers, block = self.stamps(count)
        places = np.arange(len(filled), len(filled) + count)
        self.cache.store(layer, np.full(count, row), places, block, -block)
        filled.extend(numbers.tolist())

    @rule(layer=st.integers(0, LAYERS - 1), order=st.permutations([0, 0, 1, 1]))
    def store_interleaved_rows(self, layer, order):
        """Two tokens for each row, in any order of rows."""
        if any(len(filled) + 2 > CAPACITY for filled in self.slots[layer]):
            return
        ends = [len(filled) for filled in self.slots[layer]]
        places = []
        for row in order:
            places.append(ends[row])
            ends[row] += 1
        numbers, block = self.stamps(4)
        self.cache.store(layer, np.array(order), np.array(places), block, -block)
        for row, number in zip(order, numbers.tolist(), strict=True):
            self.slots[layer][row].append(number)

    @rule(layer=st.integers(0, LAYERS - 1), row=st.integers(0, ROWS - 1), data=st.data())
    def overwrite(self, layer, row, data):
        filled = self.slots[layer][row]
        if filled:
            slot = data.draw(st.integers(0, len(filled) - 1))
            numbers, block = self.stamps(1)
            self.cache.store(layer, np.array([row]), np.array([slot]), block, -block)
            filled[slot] = float(numbers[0])

    @rule(
        layer=st.integers(0, LAYERS - 1),
        tokens=st.lists(st.tuples(st.integers(0, ROWS - 1), st.integers(-1, CAPACITY)), min_size=1, max_size=4),
    )
    def refuse_gaps_and_overflow(self, layer, tokens):
        """A store that would leave a gap, leave the capacity, or count from the end is refused and changes nothing."""
        bad = False
        for row in range(ROWS):
            written = {slot for r, slot in tokens if r == row}
            length = max([len(self.slots[layer][row]), *(slot + 1 for slot in written)])
            filled = written | set(range(len(self.slots[layer][row])))
            bad |= length > CAPACITY or min(written, default=0) < 0 or filled != set(range(length))
        if bad:
            _, block = self.stamps(len(tokens))
            rows, slots = (np.array(side) for side in zip(*tokens, strict=True))
            with pytest.raises(InvariantError):
                self.cache.store(layer, rows, slots, block, -block)

    @rule(row=st.integers(0, ROWS - 1), length=st.integers(0, CAPACITY + 1))
    def roll_back(self, row, length):
        self.cache.rollback(length, row)
        for layer in self.slots:
            del layer[row][length:]

    @rule(row=st.integers(0, ROWS - 1), data=st.data())
    def keep(self, row, data):
        common = min(len(layer[row]) for layer in self.slots)
        kept = sorted(data.draw(st.sets(st.integers(0, common - 1)))) if common else []
        self.cache.keep(kept, row)
        for layer in self.slots:
            layer[row] = [layer[row][slot] for slot in kept]

    @precondition(lambda self: True)
    @rule(row=st.integers(0, ROWS - 1), slots=st.lists(st.integers(-1, CAPACITY), min_size=1, max_size=3))
    def refuse_to_keep_what_is_not_there(self, row, slots):
        common = min(len(layer[row]) for layer in self.slots)
        if slots != sorted(set(slots)) or slots[0] < 0 or slots[-1] >= common:
            with pytest.raises(InvariantError):
                self.cache.keep(slots, row)

    @rule(row=st.integers(0, ROWS - 1))
    def refuse_a_negative_length(self, row):
        with pytest.raises(InvariantError):
            self.cache.rollback(-1, row)

    @invariant()
    def contents_agree(self):
        for layer, rows in enumerate(self.slots):
            for row, filled in enumerate(rows):
                assert self.cache.lengths[layer, row] == len(filled)
                for part, sign in ((self.cache.keys, 1.0), (self.cache.values, -1.0)):
                    found = part[layer, row, : len(filled)]
                    wanted = sign * np.array(filled, np.float32)[:, None, None]
                    np.testing.assert_array_equal(found, np.broadcast_to(wanted, found.shape))
        for row in range(ROWS):
            assert self.cache.length(row) == min(len(layer[row]) for layer in self.slots)


TestCache = CacheMachine.TestCase
TestCache.settings = settings(max_examples=100, stateful_step_count=30)


def test_keep_moves_positions_with_their_slots():
    cache = KVCache(1, 1, 1, 5)
    block = np.arange(5, dtype=np.float32).reshape(5, 1, 1)
    cache.store(0, np.zeros(5, int), np.arange(5), block, block)
    cache.positions[0] = [0, 1, 1, 2, 2]
    cache.keep([0, 2, 4])
    assert cache.positions[0, :3].tolist() == [0, 1, 2]
    assert cache.keys[0, 0, :3, 0, 0].tolist() == [0.0, 2.0, 4.0]
    assert cache.length() == 3


def test_advancing_several_layers_at_once_is_advancing_each():
    one, both = KVCache(3, 1, 1, 9, rows=2), KVCache(3, 1, 1, 9, rows=2)
    rows, slots = np.array([1, 0, 1]), np.array([0, 0, 1])
    for layer in range(2):
        one.advance(layer, rows, slots)
    both.advance(slice(2), rows, slots)
    assert one.lengths.tolist() == both.lengths.tolist() == [[1, 2], [1, 2], [0, 0]]
    both.advance(slice(3), np.array([0]), np.array([0]))  # what a layer holds already it keeps
    assert both.lengths.tolist() == [[1, 2], [1, 2], [1, 0]]
    with pytest.raises(InvariantError, match="gap"):
        both.advance(slice(3), np.array([1]), np.array([2]))  # the third layer has nothing of row 1
    assert both.lengths.tolist() == [[1, 2], [1, 2], [1, 0]]
