"""The one door to CuPy: it opens, or says in one line what is missing and what to do."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from typing import Any

from minispec.errors import MissingDependencyError, OptionError, explain

OLDEST = 80
"""Compute capability times ten: Ampere, the first with the tensor-core tile of ``linear.cu``."""

_INSTALL = "pip install 'cupy-cuda12x[ctk]' (cupy-cuda13x from driver 580 on)"
_ELSE = "or leave --backend out"


def open_cupy() -> Any:
    """Import CuPy and check that it can compute.

    Raises
    ------
    MissingDependencyError
        If CuPy is not installed or cannot be imported.
    OptionError
        If there is no GPU that it can use.
    """
    try:
        import cupy
    except ImportError as error:
        found = "is not installed" if importlib.util.find_spec("cupy") is None else f"does not load: {explain(error)}"
        raise MissingDependencyError(
            f"backends cupy and cupy-blas need CuPy, which {found}. Try {_INSTALL}, {_ELSE}"
        ) from None
    if not cupy.is_available():
        raise OptionError(f"no GPU: CuPy {cupy.__version__} finds none ({_why(cupy)}). Check nvidia-smi, {_ELSE}")
    capability = int(cupy.cuda.Device().compute_capability)
    if capability < OLDEST:
        raise OptionError(
            f"the GPU has compute capability {capability / 10}; {OLDEST / 10} is the least. Use a newer one, {_ELSE}"
        )
    module: Any = cupy
    return module


def _why(cupy: Any) -> str:
    """Return what the runtime says when asked for devices."""
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # a CUDARuntimeError, of a class that exists only where CuPy does
        return explain(error)
    return f"{count} devices"


def describe_gpu() -> str:
    """Return one line about the GPU for ``minispec doctor``, whatever is missing."""
    try:
        cupy = open_cupy()
    except (MissingDependencyError, OptionError) as error:
        return f"none: {error}"
    properties = cupy.cuda.runtime.getDeviceProperties(0)
    free, total = cupy.cuda.Device().mem_info
    name = properties["name"].decode()
    return f"{name}, {free / 1e9:.1f} of {total / 1e9:.1f} GB free, CuPy {importlib.metadata.version(_package())}"


def _package() -> str:
    """Return the name of the distribution that CuPy came in; there is one for each CUDA version."""
    return importlib.metadata.packages_distributions()["cupy"][0]
