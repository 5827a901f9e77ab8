"""Memory for kernels: where arrays begin, that they are zeros of their own, and when their memory goes back."""

from __future__ import annotations

import gc
import mmap
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.engine.backends import arrays

BOTH = pytest.mark.parametrize("zeros", [arrays.allocate_aligned, arrays.allocate_weights])


@BOTH
@given(
    wanted=st.lists(
        st.tuples(st.integers(0, 40), st.integers(1, 40), st.sampled_from([np.float32, np.float16, np.int8])),
        max_size=8,
    )
)
def test_arrays_are_aligned_zeros_of_their_own(zeros, wanted):
    made = []
    for number, (rows, columns, kind) in enumerate(wanted):
        array = zeros((rows, columns), kind)
        assert array.shape == (rows, columns)
        assert array.dtype == kind
        assert array.flags.c_contiguous
        assert array.ctypes.data % 64 == 0 or not array.size
        assert not array.any()
        array[...] = number + 1
        made.append(array)
    for number, array in enumerate(made):
        assert (array == number + 1).all()


@BOTH
def test_an_array_may_be_larger_than_a_piece(zeros, monkeypatch):
    monkeypatch.setattr(arrays, "_PIECE", 1 << 12)
    array = zeros((3, 1 << 12), np.float32)
    array[...] = 7.0
    assert array.sum() == 7.0 * array.size


def pieces(count):
    """Return so many arrays of a quarter of a piece, and weak references to the memory they lie in."""
    made = [arrays.allocate_weights((arrays._PIECE // 4,), np.int8) for _ in range(count)]
    return made, [weakref.ref(memory(array)) for array in made]


def memory(array):
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array.base if isinstance(array.base, mmap.mmap) else array.base.obj


HUGE = pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="this system has no huge pages to ask for")


@HUGE
def test_a_large_array_takes_nothing_from_the_last_piece(monkeypatch):
    monkeypatch.setattr(arrays._here, "left", np.zeros(100, np.uint8), raising=False)
    large = arrays.allocate_weights((arrays._PIECE,), np.int8)
    assert arrays._here.left.size == 100
    where = weakref.ref(large.base)
    del large
    assert where() is None


@HUGE
def test_a_kernel_that_has_no_huge_pages_costs_time_and_nothing_else(monkeypatch):
    class Refusing(mmap.mmap):
        def madvise(self, *advice):
            raise OSError(22, "Invalid argument")

    monkeypatch.setattr(arrays._here, "left", np.zeros(0, np.uint8), raising=False)
    monkeypatch.setattr(mmap, "mmap", Refusing)
    assert not arrays.allocate_weights((5, 7), np.float32).any()


@HUGE
def test_memory_that_is_not_to_be_had_is_a_memory_error(monkeypatch):
    monkeypatch.setattr(arrays._here, "left", np.zeros(0, np.uint8), raising=False)
    monkeypatch.setattr(arrays, "_PIECE", 1 << 60)
    with pytest.raises(MemoryError):
        arrays.allocate_weights((5, 7), np.float32)


@HUGE
def test_memory_goes_back_when_all_of_a_piece_is_gone(monkeypatch):
    monkeypatch.setattr(arrays._here, "left", np.zeros(0, np.uint8), raising=False)
    made, where = pieces(8)
    assert len({id(found()) for found in where}) == 2
    kept = made[1]  # of the first piece
    del made
    arrays._here.left = np.zeros(0, np.uint8)
    gc.collect()
    assert [found() is not None for found in where] == [True] * 4 + [False] * 4
    del kept
    gc.collect()
    assert not any(found() is not None for found in where)


def test_without_huge_pages_weights_are_aligned_all_the_same(monkeypatch):
    monkeypatch.delattr(mmap, "MADV_HUGEPAGE", raising=False)
    array = arrays.allocate_weights((5, 7), np.float32)
    assert array.ctypes.data % 64 == 0
    assert not array.any()


@HUGE
def test_threads_share_no_bytes_and_no_lock():
    """A lock could stay closed behind a Ctrl-C, and the next model would wait for it for ever."""
    ours = arrays.allocate_weights((1000,), np.int8)

    def allocate(_):
        return [arrays.allocate_weights((1000,), np.int8) for _ in range(50)]

    with ThreadPoolExecutor(4) as pool:
        theirs = [array for made in pool.map(allocate, range(8)) for array in made]
    for i, array in enumerate([ours, *theirs]):
        array[:] = i % 100
    assert all((array == i % 100).all() for i, array in enumerate([ours, *theirs]))
    assert not any("lock" in name.lower() for name in vars(arrays))
