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


def options(dtype: str, kv_dtype: str, odd: bool, ring: Ring) -> tuple[str, ...]:
    """Return the compiler's options: formats of weights and of the cache, odd sizes, and the weights on their way."""
    switches = {"MINISPEC_FLOAT16": dtype == "float16", "KV_FLOAT16": kv_dtype == "float16", "ODD_SIZES": odd}
    numbers = {**switches, "SLOTS": ring.slots, "PIECE": ring.piece, "NO_BULK": not ring.bulk}
    # Fused multiply-adds are where the source says.
    return ("-std=c++17", "-fmad=false", *(f"-D{name}={int(number)}" for name, number in numbers.items()))
