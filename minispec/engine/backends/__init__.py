"""The arithmetic of the forward: one small set of operations, several bodies.

``base.Backend`` is the interface with NumPy reference bodies; ``compiled.NumbaBackend`` overrides what must be fast.
"""

import importlib.util
import logging

from minispec.engine.backends.base import Backend, Linear, Norm, NumpyBackend
from minispec.engine.backends.formats import AUTO, DTYPES
from minispec.errors import OptionError

_log = logging.getLogger(__name__)

BACKENDS = ("panel", "numba", "numpy")
"""Names :func:`get_backend` knows, the default first."""

GPU_BACKENDS = ("cupy", "cupy-blas")
"""Names of those that need an NVIDIA card and CuPy, the fast one first."""


def settle_kv_dtype(backend: Backend, dtype: str, kv_dtype: str) -> str:
    """Return the format of keys and values beside weights in ``dtype``: the one asked for, or for "auto" the usual one.

    Raises
    ------
    OptionError
        If the backend has no such format there.
    """
    known = backend.kv_dtypes(dtype)
    if kv_dtype not in (AUTO, *known):
        raise OptionError(
            f"kv_dtype is {kv_dtype!r}; beside weights in {dtype}, backend {backend.name} has {', '.join(known)}. "
            f"Try --kv-dtype {known[0]}"
        )
    return known[0] if kv_dtype == AUTO else kv_dtype


def get_backend(name: str) -> Backend:
    """Return the backend called ``name``; NumPy's, and a warning, for the compiled ones where there is no Numba.

    Raises
    ------
    OptionError
        If there is none of that name, or it needs a GPU and there is none.
    MissingDependencyError
        If it needs CuPy, which is not installed.
    """
    if name in ("panel", "numba") and importlib.util.find_spec("numba") is None:  # a browser's Python
        _log.warning("backend %s needs Numba, which is not installed; numpy computes instead", name)
        name = "numpy"
    if name == "numpy":
        return NumpyBackend()
    if name == "panel":
        from minispec.engine.backends.panel.isa import find_host_isa  # imports Numba

        isa = find_host_isa()
        if isa is not None:
            from minispec.engine.backends.panel import PanelBackend

            return PanelBackend(isa)
        _log.warning("backend panel has no kernels for this CPU (see `minispec doctor`); numba computes instead")
    if name in ("panel", "numba"):
        from minispec.engine.backends.compiled import (
            NumbaBackend,  # the only door to Numba: it takes a moment to import
        )

        return NumbaBackend()
    if name in GPU_BACKENDS:
        from minispec.engine.backends.cuda import CupyBackend, CupyBlasBackend, open_cupy

        cupy = open_cupy()
        return CupyBackend(cupy) if name == "cupy" else CupyBlasBackend(cupy)
    known = ", ".join((*BACKENDS, *GPU_BACKENDS))
    raise OptionError(f"backend is {name!r}; it must be one of {known}. Try --backend {BACKENDS[0]}")


__all__ = [
    "BACKENDS",
    "DTYPES",
    "GPU_BACKENDS",
    "Backend",
    "Linear",
    "Norm",
    "NumpyBackend",
    "get_backend",
]
