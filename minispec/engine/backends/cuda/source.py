"""The kernel's source and how it is compiled: one text, one set of options per number format and card."""

from __future__ import annotations

from pathlib import Path

from minispec.engine.backends.cuda.program import Ring

FILES = ("common.cu", "stream.cu", "linear.cu", "attention.cu", "elements.cu", "run.cu")
"""The kernel, in the order in which it is joined: what all share, weights under way, products, attention, the rest."""


def source(primitives: str | None = None) -> str:
    """Return the CUDA C++ of the kernel.

    Parameters
    ----------
    primitives : str, optional
        What to use instead of ``primitives.cuh``: an emulation of the card's instructions.
    """
    folder = Path(__file__).parent
    if primitives is None:
        primitives = (folder / "primitives.cuh").read_text(encoding="utf-8")
    return primitives + "".join((folder / name).read_text(encoding="utf-8") for name in FILES)


def options(dtype: str, kv_dtype: str, ring: Ring) -> tuple[str, ...]:
    """Return the compiler's options: formats of weights and of the cache, and the weights on their way."""
    formats = {"MINISPEC_FLOAT16": dtype, "KV_FLOAT16": kv_dtype}
    halves = (f"-D{name}={int(kind == 'float16')}" for name, kind in formats.items())
    sizes = f"-DSLOTS={ring.slots}", f"-DPIECE={ring.piece}", f"-DNO_BULK={int(not ring.bulk)}"
    # Fused multiply-adds are where the source says.
    return ("-std=c++17", "-fmad=false", *halves, *sizes)
