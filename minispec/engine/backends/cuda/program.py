"""A forward as the kernel goes through it: a table of steps, and what a step of it is fed.

Nothing here knows CuPy: an address is a number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minispec.engine.backends.cuda.packing import TILE
from minispec.errors import OptionError

ROWS = 8
"""Rows that a block computes at once (common.cu)."""

STREAMS = 8
"""Warps of a block that multiply (common.cu)."""

THREADS = STREAMS * 32 + 128
"""Threads of a block (common.cu)."""

MAX_HEAD_SIZE = 256
"""The longest head that attention takes (common.cu)."""

EMBED, LINEAR, ATTENTION, KEEP = range(4)
"""Kinds of steps (common.cu)."""

_NUMBERS = ("kind", "activation", "num_rows", "num_inputs", "num_outputs", "turn", "number", "unused")
ADDRESSES = ("weight", "bias", "x", "norm_weight", "norm_bias", "residual", "y", "keys", "values")
"""Fields of a step that are addresses of arrays on the card."""

STEP = np.dtype(
    [(name, np.float32 if name == "number" else np.int32) for name in _NUMBERS]
    + [(name, np.uint64) for name in ADDRESSES]
)
"""``struct Step`` of common.cu."""

FEED = np.dtype(
    [(name, np.uint64) for name in ("tokens", "positions", "slots", "ends", "pages", "visible")]
    + [("num_pages", np.int32), ("size", np.int32)]
)
"""``struct Feed`` of common.cu."""


@dataclass(frozen=True, slots=True)
class Ring:
    """How many weights a warp has on their way: ``slots`` pieces of at most ``piece`` tiles.

    Sums depend on ``piece``, so that bits are the same on one card and may differ between cards. ``bulk`` lets the copy
    engine bring them, where there is one.
    """

    slots: int
    piece: int
    bulk: bool = True

    def shared_bytes(self, dtype: str, num_steps: int) -> int:
        """Return a block's shared memory, for a program of some steps."""
        item = 2 if dtype == "float16" else 4
        pieces = self.slots * self.piece * TILE * TILE * item
        inputs = ROWS * self.piece * TILE * item
        norm = 2 * self.piece * TILE * 4
        found = 2 * (2 + MAX_HEAD_SIZE) * 4
        of_warp = pieces + inputs + norm + found + 2 * ROWS * 4 + self.slots * 8
        return STREAMS * of_warp + FEED.itemsize + 2 * STEP.itemsize + 24 * num_steps

    @classmethod
    def fit(cls, dtype: str, limit: int) -> Ring:
        """Return the ring for blocks that may have ``limit`` bytes of shared memory, with room for 250 steps.

        Three pieces where there is room for long ones, else two; of halves an odd number of tiles, so that rows of
        staged inputs lie in different banks.
        """
        longest, step = (13, 2) if dtype == "float16" else (6, 1)
        for slots in (3, 2):
            for piece in range(longest, 1, -step):
                ring = cls(slots, piece)
                if ring.shared_bytes(dtype, 250) <= limit and (slots == 2 or piece == longest):
                    return ring
        raise OptionError(f"the GPU gives a block {limit} bytes of shared memory, too little. Try --backend cupy-blas")


class Program:
    """Steps, and where the blocks stand: each step's first item goes to the block after the last one's.

    Parameters
    ----------
    blocks : int
        As many as the card has multiprocessors.
    """

    def __init__(self, blocks: int) -> None:
        self._blocks, self._turn = blocks, 0
        self._steps: list[tuple[Any, ...]] = []

    def __len__(self) -> int:
        return len(self._steps)

    def add(self, kind: int, num_items: int = 0, **fields: Any) -> None:
        """Append a step; fields that are left out are zero."""
        fields |= {"kind": kind, "turn": self._turn}
        self._turn = (self._turn + num_items) % self._blocks
        self._steps.append(tuple(fields.get(name, 0) for name in (*_NUMBERS, *ADDRESSES)))

    def table(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """Return the steps as the kernel reads them."""
        return np.array(self._steps, STEP).view(np.uint8)
