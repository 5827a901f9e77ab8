"""The GPU backends, on CuPy, which is imported only when one of them is asked for.

``cupy-blas`` (``reference``) is the readable one: the reference bodies on the card's arrays, products by cuBLAS.
``cupy`` (``fused``) is the fast one: one kernel of our own, one launch per forward, through a table of steps.
The first is the oracle of the second; ``docs/kernels.md`` has the design.
"""

from minispec.engine.backends.cuda.door import describe_gpu, open_cupy
from minispec.engine.backends.cuda.fused import CupyBackend
from minispec.engine.backends.cuda.reference import CupyBlasBackend

__all__ = ["CupyBackend", "CupyBlasBackend", "describe_gpu", "open_cupy"]
