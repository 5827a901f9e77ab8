"""The kernels' source and how it is compiled: one text, one set of options per number format."""

from __future__ import annotations

from pathlib import Path

FILES = ("common.cu", "linear.cu", "attention.cu", "elements.cu")
"""The kernels, in the order in which they are joined: what all share, products, attention, and the rest."""


def source(primitives: str | None = None) -> str:
    """Return the CUDA C++ of all kernels.

    Parameters
    ----------
    primitives : str, optional
        What to use instead of ``primitives.cuh``: an emulation of the card's instructions.
    """
    folder = Path(__file__).parent
    if primitives is None:
        primitives = (folder / "primitives.cuh").read_text(encoding="utf-8")
    return primitives + "".join((folder / name).read_text(encoding="utf-8") for name in FILES)


def options(dtype: str) -> tuple[str, ...]:
    """Return the compiler's options for weights kept in ``dtype``: fused multiply-adds are where the source says."""
    return ("-std=c++17", "-fmad=false", f"-DMINISPEC_FLOAT16={int(dtype == 'float16')}")
