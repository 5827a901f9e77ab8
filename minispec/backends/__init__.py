"""Where the arithmetic of the forward happens: one small set of operations, several bodies.

``base.Backend`` is the interface with NumPy reference bodies; ``compiled.NumbaBackend`` overrides what must be fast.
"""

from minispec.backends.base import Backend, Linear, NumpyBackend
from minispec.errors import OptionError

BACKENDS = ("numba", "numpy")
"""Names :func:`get_backend` knows, the default first."""


def get_backend(name: str) -> Backend:
    """Return the backend called ``name``.

    Raises
    ------
    OptionError
        If there is none of that name.
    """
    if name == "numpy":
        return NumpyBackend()
    if name == "numba":
        from minispec.backends.compiled import NumbaBackend  # the only door to Numba: it takes a moment to import

        return NumbaBackend()
    raise OptionError(f"backend is {name!r}; it must be one of {', '.join(BACKENDS)}. Try --backend {BACKENDS[0]}")


__all__ = ["BACKENDS", "Backend", "Linear", "NumpyBackend", "get_backend"]
