"""What stands in for CuPy where there is no GPU: strict about everything that the real one would be strict about.

Its arrays keep apart from NumPy's: no operation takes both, and nothing converts one into the other but ``asarray``,
``get`` and ``set``. While a stream is capturing, whatever CuPy refuses then is refused, and launches are only noted.
Kernels run on the emulated card (``emulator``), every argument's type, layout and count checked against the source.
"""

from __future__ import annotations

import contextlib
import ctypes
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.engine.backends import emulator

STATE = types.SimpleNamespace(capturing=None, private=False)


def _working() -> None:
    """Refuse what cannot be recorded."""
    if STATE.capturing is not None:
        raise RuntimeError("this operation cannot be captured")


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
    T = property(lambda self: ndarray(self.memory.T))

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> ndarray:
        _working()
        out = {"out": tuple(map(_host, options.pop("out")))} if "out" in options else {}
        return ndarray(np.asarray(getattr(ufunc, method)(*map(_host, inputs), **options, **out)))

    def __array_function__(self, function: Any, _: Any, inputs: Any, options: Any) -> ndarray:
        _working()
        return ndarray(np.asarray(function(*map(_host, inputs), **options)))

    def __len__(self) -> int:
        return len(self.memory)

    def __getitem__(self, key: Any) -> ndarray:
        keys = key if isinstance(key, tuple) else (key,)
        if any(isinstance(part, ndarray) for part in keys):
            _working()  # a gather; anything else is a view
        return ndarray(self.memory[tuple(map(_host, keys))])

    def __setitem__(self, key: Any, value: Any) -> None:
        _working()
        keys = key if isinstance(key, tuple) else (key,)
        self.memory[tuple(map(_host, keys))] = _host(value)

    def reshape(self, *shape: Any) -> ndarray:
        if not self.memory.flags.c_contiguous:
            _working()  # a copy
        return ndarray(self.memory.reshape(*shape))

    def transpose(self, *axes: int) -> ndarray:
        return ndarray(self.memory.transpose(*axes))

    def _computed(name: str) -> Callable[..., ndarray]:
        def method(self: ndarray, *positional: Any, **named: Any) -> ndarray:
            _working()
            return ndarray(np.asarray(getattr(self.memory, name)(*positional, **named)))

        return method

    astype, copy, mean, max, sum = map(_computed, ("astype", "copy", "mean", "max", "sum"))

    def get(self, stream: Any = None) -> np.ndarray:
        _working()
        return self.memory.copy()

    def set(self, array: np.ndarray, stream: Any = None) -> None:
        _working()
        if array.shape != self.shape or array.dtype != self.dtype or not self.memory.flags.c_contiguous:
            raise ValueError(f"cannot set {self.dtype} {self.shape} to {array.dtype} {array.shape}")
        self.memory[...] = array


class Graph:
    def __init__(self, launches: list[Callable[[], None]]) -> None:
        self.launches = launches

    def launch(self, stream: Any = None) -> None:
        _working()
        for launch in self.launches:
            launch()


class Stream:
    null: Stream

    def __init__(self, null: bool = False, non_blocking: bool = False) -> None:
        self.may_capture = non_blocking and not null

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def synchronize(self) -> None:
        _working()

    def begin_capture(self) -> None:
        _working()
        if not self.may_capture:
            raise RuntimeError("cannot capture on the default stream")
        STATE.capturing = []

    def end_capture(self) -> Graph:
        launches, STATE.capturing = STATE.capturing, None
        return Graph(launches)


Stream.null = Stream(null=True)


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

    __version__ = "0 (a stand-in)"
    ndarray = ndarray

    def __init__(self, build: Callable[[str], Any], seed: int = 0, memory: int = 2**40) -> None:
        STATE.capturing = None  # whatever an earlier test left behind
        self.build, self.seed, self.memory, self.used, self.num_launches = build, seed, memory, 0, 0
        pool = types.SimpleNamespace(malloc=object(), free_bytes=lambda: 0)
        self.get_default_memory_pool = lambda: pool
        self.cuda = types.SimpleNamespace(
            Stream=Stream,
            MemoryPool=lambda allocate: types.SimpleNamespace(malloc=allocate),
            using_allocator=self._using_allocator,
            Device=lambda: types.SimpleNamespace(mem_info=(self.memory - self.used, self.memory)),
        )

    @contextlib.contextmanager
    def _using_allocator(self, allocate: Any) -> Iterator[None]:
        STATE.private = True
        try:
            yield
        finally:
            STATE.private = False

    def _allocated(self, array: np.ndarray) -> ndarray:
        self.used += array.nbytes
        if self.used > self.memory:
            raise MemoryError("Out of memory allocating")
        return ndarray(array)

    def asarray(self, array: Any, dtype: Any = None) -> ndarray:
        _working()
        return self._allocated(np.array(_host(array) if isinstance(array, ndarray) else array, dtype))

    def zeros(self, shape: Any, dtype: Any = np.float64) -> ndarray:
        _working()
        return self._allocated(np.zeros(shape, dtype))

    def empty(self, shape: Any, dtype: Any = np.float64) -> ndarray:
        if STATE.capturing is not None and not STATE.private:
            raise RuntimeError("memory of the common pool in a recording")
        array = np.empty(shape, dtype)
        array.reshape(-1).view(np.uint8)[:] = 0xFF  # NaN, or -1: whoever reads it will know
        return ndarray(array)  # of the pool of temporaries, and not counted

    def RawModule(self, code: str, options: tuple[str, ...]) -> Any:
        _working()
        dtype = "float16" if "-DMINISPEC_FLOAT16=1" in options else "float32"
        library, signatures = self.build(dtype)
        return types.SimpleNamespace(
            compile=lambda: None,
            get_function=lambda name: (
                lambda grid, block, arguments: self._launch(
                    getattr(library, f"launch_{name}"), signatures[name], grid, block, arguments
                )
            ),
        )

    def _launch(self, function: Any, signature: Any, grid: Any, block: Any, arguments: Any) -> None:
        self.num_launches += 1
        assert len(arguments) == len(signature), f"{len(arguments)} arguments for {len(signature)} parameters"
        cells = [_cell(value, *parameter) for value, parameter in zip(arguments, signature, strict=True)]
        (threads,), (x, y, z) = block, (*grid, 1, 1)[:3]
        pointers = (ctypes.c_void_p * len(cells))(*(ctypes.addressof(cell) for cell in cells))
        held = (cells, arguments)

        def run() -> None:
            assert held
            if function(x, y, z, threads, self.seed, pointers):
                raise RuntimeError("the threads of a block wait for one another")

        if STATE.capturing is None:
            run()
        else:
            STATE.capturing.append(run)


def _cell(value: Any, is_pointer: bool, kind: np.dtype) -> Any:
    """Check one argument of a launch and return it as the launcher reads it."""
    if is_pointer:
        if isinstance(value, np.uintp):
            assert value == 0
            return ctypes.c_void_p(0)
        assert isinstance(value, ndarray), f"{type(value)} for a pointer"
        assert value.dtype == kind, f"{value.dtype} for a pointer to {kind}"
        assert value.memory.flags.c_contiguous, "a view with strides"
        return ctypes.c_void_p(value.memory.ctypes.data)
    assert type(value) is kind.type, f"{type(value)} for {kind}"
    return (ctypes.c_int32 if kind == np.int32 else ctypes.c_float)(value.item())


def builder(folder: Path) -> Callable[[str], Any]:
    """Return a ``build`` that compiles each format once."""
    built: dict[str, Any] = {}

    def build(dtype: str) -> Any:
        if dtype not in built:
            built[dtype] = emulator.build(folder, dtype)
        return built[dtype]

    return build
