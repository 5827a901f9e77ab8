"""What stands in for CuPy where there is no GPU: strict about everything that the real one would be strict about.

Its arrays keep apart from NumPy's: no operation takes both, and nothing converts one into the other but ``asarray``,
``get`` and ``set``. The kernel runs on the emulated card (``emulator``), sizes
of tables and of shared memory checked against the source.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.engine.backends import emulator


def _host(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.ndim:
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    return value.memory if isinstance(value, ndarray) else value


class ndarray(np.lib.mixins.NDArrayOperatorsMixin):  # CuPy's name
    """An array on the card."""

    def __init__(self, memory: np.ndarray) -> None:
        self.memory = memory

    shape = property(lambda self: self.memory.shape)
    dtype = property(lambda self: self.memory.dtype)
    size = property(lambda self: self.memory.size)
    itemsize = property(lambda self: self.memory.itemsize)
    ndim = property(lambda self: self.memory.ndim)
    data = property(lambda self: types.SimpleNamespace(ptr=self.memory.ctypes.data))

    def view(self, dtype: Any) -> ndarray:
        return ndarray(self.memory.view(dtype))

    T = property(lambda self: ndarray(self.memory.T))

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> ndarray:
        out = {"out": tuple(map(_host, options.pop("out")))} if "out" in options else {}
        return ndarray(np.asarray(getattr(ufunc, method)(*map(_host, inputs), **options, **out)))

    def __array_function__(self, function: Any, _: Any, inputs: Any, options: Any) -> ndarray:
        return ndarray(np.asarray(function(*map(_host, inputs), **options)))

    def __len__(self) -> int:
        return len(self.memory)

    def __getitem__(self, key: Any) -> ndarray:
        keys = key if isinstance(key, tuple) else (key,)
        if any(isinstance(part, ndarray) for part in keys):
            pass
        return ndarray(self.memory[tuple(map(_host, keys))])

    def __setitem__(self, key: Any, value: Any) -> None:
        keys = key if isinstance(key, tuple) else (key,)
        self.memory[tuple(map(_host, keys))] = _host(value)

    def reshape(self, *shape: Any) -> ndarray:
        return ndarray(self.memory.reshape(*shape))

    def transpose(self, *axes: int) -> ndarray:
        return ndarray(self.memory.transpose(*axes))

    def _computed(name: str) -> Callable[..., ndarray]:
        def method(self: ndarray, *positional: Any, **named: Any) -> ndarray:
            return ndarray(np.asarray(getattr(self.memory, name)(*positional, **named)))

        return method

    astype, copy, mean, max, sum = map(_computed, ("astype", "copy", "mean", "max", "sum"))

    def get(self, stream: Any = None) -> np.ndarray:
        return self.memory.copy()

    def set(self, array: np.ndarray, stream: Any = None) -> None:
        if array.shape != self.shape or array.dtype != self.dtype or not self.memory.flags.c_contiguous:
            raise ValueError(f"cannot set {self.dtype} {self.shape} to {array.dtype} {array.shape}")
        self.memory[...] = array


class Stream:
    null: Stream
    ptr = 1

    def __init__(self, null: bool = False, non_blocking: bool = False) -> None:
        pass

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def synchronize(self) -> None:
        pass


Stream.null = Stream(null=True)


class Pinned(bytearray):
    """Memory of the host that the card can reach."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.ptr = ctypes.addressof(ctypes.c_char.from_buffer(self))


class Event:
    """A moment on a stream; here, of the machine that emulates."""

    def record(self, stream: Stream) -> None:
        self.time = time.perf_counter()

    def synchronize(self) -> None:
        pass


class _Chunk:
    """Memory of the pool: handed out again as soon as no array is in it, and never given back."""

    def __init__(self, freed: dict[int, list[np.ndarray]], size: int) -> None:
        self._freed, rounded = freed.setdefault(-(-size // 512), []), -(-size // 512) * 512
        self._memory = self._freed.pop() if self._freed else _aligned(rounded)
        self.__array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (self._memory.ctypes.data, False),
            "version": 3,
        }

    def __del__(self) -> None:
        self._freed.append(self._memory)


def _aligned(size: int) -> np.ndarray:
    """Return bytes that begin at a multiple of 512, as CuPy's do."""
    memory = np.empty(size + 512, np.uint8)
    begin = -memory.ctypes.data % 512
    return memory[begin : begin + size]


class FakeCupy:
    """The module.

    Parameters
    ----------
    build : callable
        Maps a number format to the library of kernels and their signatures; see :func:`emulator.build`.
    seed : int
        Of the order in which threads and blocks run; 0 is the natural order.
    memory : int
        Bytes on the card.
    """

    __name__ = "a stand-in"
    __version__ = "0 (a stand-in)"
    ndarray = ndarray

    def __init__(
        self, build: Callable[[tuple[str, ...]], Any], seed: int = 0, memory: int = 2**40, blocks: int = 2,
        limit: int = 101376,
    ) -> None:  # fmt: skip
        self.blocks, self.limit, self.failed = blocks, limit, False
        streams = type("Stream", (Stream,), {"synchronize": lambda stream: self._check(), "null": Stream.null})
        self.freed: dict[int, list[np.ndarray]] = {}  # of the pool that is asked now
        self.pools: dict[Any, dict[int, list[np.ndarray]]] = {}
        self.build, self.seed, self.memory, self.used, self.num_launches = build, seed, memory, 0, 0
        pool = types.SimpleNamespace(malloc=object(), free_bytes=lambda: 0)
        self.get_default_memory_pool = lambda: pool
        self.cuda = types.SimpleNamespace(
            Stream=streams,
            MemoryPool=lambda allocate: types.SimpleNamespace(malloc=allocate),
            using_allocator=self._using_allocator,
            alloc_pinned_memory=Pinned,
            Event=Event,
            get_elapsed_time=lambda begin, end: max(end.time - begin.time, 1e-6) * 1e3,
            runtime=types.SimpleNamespace(memcpyAsync=self._memcpy, memcpyHostToDevice=1, memcpyDeviceToHost=2),
            Device=lambda: types.SimpleNamespace(
                mem_info=(self.memory - self.used, self.memory),
                attributes={"MultiProcessorCount": self.blocks, "MaxSharedMemoryPerBlockOptin": self.limit},
            ),
        )

    @contextlib.contextmanager
    def _using_allocator(self, allocate: Any) -> Iterator[None]:
        before, self.freed = self.freed, self.pools.setdefault(allocate, {})
        try:
            yield
        finally:
            self.freed = before

    def _allocated(self, array: np.ndarray) -> ndarray:
        self.used += array.nbytes
        if self.used > self.memory:
            raise MemoryError("Out of memory allocating")
        return ndarray(array)

    def asarray(self, array: Any, dtype: Any = None) -> ndarray:
        return self._allocated(np.array(_host(array) if isinstance(array, ndarray) else array, dtype))

    def zeros(self, shape: Any, dtype: Any = np.float64) -> ndarray:
        return self._allocated(np.zeros(shape, dtype))

    def empty(self, shape: Any, dtype: Any = np.float64) -> ndarray:
        array = (
            np.asarray(_Chunk(self.freed, int(np.prod(shape)) * np.dtype(dtype).itemsize)).view(dtype).reshape(shape)
        )
        array.reshape(-1).view(np.uint8)[:] = 0xFF  # NaN, or -1: whoever reads it will know
        return ndarray(array)  # of the pool of temporaries, and not counted

    def arange(self, count: int, dtype: Any) -> ndarray:
        return self._allocated(np.arange(count, dtype=dtype))

    def RawKernel(self, code: str, name: str) -> Callable[..., None]:
        return lambda grid, block, arguments: None  # of a benchmark: nobody reads what it would write

    def RawModule(self, code: str, options: tuple[str, ...]) -> Any:
        library = self.build(options)

        def kernel(grid: Any, block: Any, arguments: Any, shared_mem: int, enable_cooperative_groups: bool) -> None:
            assert (block, enable_cooperative_groups) == ((library.size_of(2),), True)
            self._launch(library, grid, arguments, shared_mem)

        return types.SimpleNamespace(get_function=lambda name: types.SimpleNamespace(kernel=kernel))

    def _check(self) -> None:
        """A launch that ended in a trap is heard of later, and nothing works any more then."""
        if self.failed:
            raise RuntimeError("cudaErrorLaunchFailure: unspecified launch failure")

    def _launch(self, library: Any, grid: Any, arguments: Any, shared: int) -> None:
        self._check()
        self.num_launches += 1
        table, num_steps, feeds, arrived = arguments
        assert type(num_steps) is np.int32
        assert table.size == num_steps * library.size_of(0)
        assert feeds.size == library.size_of(1)
        assert library.size_of(3) + 24 * num_steps <= shared <= self.limit
        assert not arrived.memory.any()
        self.failed = library.emulate(
            grid[0], shared, self.seed, _address(table), int(num_steps), _address(feeds), _address(arrived)
        )
        assert self.failed or not arrived.memory.any()

    def _memcpy(self, to: int, source: int, size: int, kind: int, stream: int) -> None:
        self._check()
        assert (kind, stream) in ((1, Stream.ptr), (2, Stream.ptr))
        ctypes.memmove(to, source, size)


@contextlib.contextmanager
def cupyx() -> Iterator[None]:
    """Put what we use of CuPy's second module where it is imported from."""
    erf = np.vectorize(math.erf, otypes=[np.float32])
    special = types.SimpleNamespace(erf=lambda x: ndarray(erf(x.memory)))
    modules = {"cupyx": types.ModuleType("cupyx"), "cupyx.scipy": types.ModuleType("scipy"),
               "cupyx.scipy.special": special}  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:  # mock.patch.dict would also forget what is imported meanwhile
        for name, module in modules.items():
            patch.setitem(sys.modules, name, module)
        yield


def _address(array: ndarray) -> Any:
    assert array.memory.flags.c_contiguous
    return ctypes.c_void_p(array.data.ptr)


def builder(folder: Path, code: str | None = None) -> Callable[[tuple[str, ...]], Any]:
    """Return a ``build`` that compiles for each set of options once; ``code`` stands in for the source."""
    return functools.cache(lambda options: emulator.build(folder, options, code))
