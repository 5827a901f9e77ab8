"""The vector instructions of this CPU, and the tile of a matrix product that fits its registers.

A tile is ``max_rows`` rows times one panel of ``vectors`` vectors. All its sums live in registers for the whole of K,
beside the weights being read and one broadcast input, so ``max_rows * vectors + vectors + 1`` must not exceed the
registers there are. Two or more vectors per panel share each broadcast. See ``docs/kernels.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import llvmlite.binding

from minispec.engine.jit import can_compile


@dataclass(frozen=True, slots=True)
class ISA:
    """A vector instruction set and the tile made for it.

    Attributes
    ----------
    name : str
    lanes : int
        float32 numbers per vector.
    registers : int
        Vector registers.
    vectors : int
        Vectors per panel.
    max_rows : int
        The most rows of a tile; more rows go block by block.
    """

    name: str
    lanes: int
    registers: int
    vectors: int
    max_rows: int

    @property
    def panel(self) -> int:
        """Columns per panel."""
        return self.lanes * self.vectors

    def panels_at_once(self, rows: int, item_bytes: int) -> int:
        """Return how many panels a tile of ``rows`` rows takes together, if a weight has ``item_bytes`` bytes.

        A fused multiply-add takes about four cycles, so what a step of few sums reads must be worth the wait. With
        two bytes per weight one panel is enough: 16 bytes a cycle with AVX-512 are more than memory gives, and hardware
        prefetches one stream best. With int8 it takes two panels. The weights being read need registers too.
        """
        fitting = (self.registers - 1) // (self.vectors * (rows + 1))
        return max(1, min(2 // item_bytes, 8 // (rows * self.vectors), fitting))


AVX512 = ISA("avx512", lanes=16, registers=32, vectors=2, max_rows=12)
AVX2 = ISA("avx2", lanes=8, registers=16, vectors=2, max_rows=6)
NEON = ISA("neon", lanes=4, registers=32, vectors=4, max_rows=6)


def choose_isa(features: Mapping[str, bool], architecture: str) -> ISA | None:
    """Return the widest instruction set of a CPU that has a tile here, or None.

    Parameters
    ----------
    features : mapping of str to bool
        LLVM's names, as ``llvmlite.binding.get_host_cpu_features`` gives them.
    architecture : str
        First part of LLVM's triple, such as ``x86_64``.
    """
    if architecture in ("aarch64", "arm64"):  # NEON with fused multiply-add and float16 conversion is its baseline
        return NEON
    if features.get("avx512f") and features.get("avx512bw"):
        return AVX512
    if features.get("avx2") and features.get("fma") and features.get("f16c"):
        return AVX2
    return None


def find_host_isa() -> ISA | None:
    """Return this machine's instruction set; None if it has no tile here or the compiler is switched off."""
    if not can_compile():
        return None
    features = llvmlite.binding.get_host_cpu_features()
    return choose_isa(features, llvmlite.binding.get_process_triple().split("-")[0])
