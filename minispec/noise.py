"""Stop 7 of 12 · where randomness enters. Before: sampling/draw. Next: drafters/model.

The engine asks two questions and no others: ``bernoulli(prob)`` and ``categorical(probs)``. Every answer has an
*address*, and the noise behind it is a pure function of (seed, address): nothing is streamed, so no question can
shift the answer to another.

- ``sample`` noise is addressed by (row, position) alone. Plain decoding uses it, and any rule that couples itself to
  plain decoding.
- ``draft``, ``accept``, ``residual`` and ``bonus`` noise is addressed by the step too: after a rejection the same
  position is drafted again, and reusing its noise would bias every rule that looks at discarded drafts.

``categorical`` *is* the exponential race: token x wins iff E_x / p_x is smallest, with E_x = -log(1 - u_x) ~ Exp(1)
independent. :mod:`minispec.race` computes the noise of the tokens that can win and of no others.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from minispec.errors import InvariantError, OptionError

Purpose = Literal["sample", "draft", "accept", "residual", "bonus"]
_PURPOSE_CODE: dict[Purpose, int] = {"sample": 0, "draft": 1, "accept": 2, "residual": 3, "bonus": 4}


class Address(NamedTuple):
    """Where a piece of noise is read: one address, one read.

    Parameters
    ----------
    purpose : {"sample", "draft", "accept", "residual", "bonus"}
    position : int
        Position in the sequence of the token the answer decides.
    step, row, level, node : int
        The step (0 for ``sample`` noise), the row of a batch, and, for trees and cascades, the level and the node.
    """

    purpose: Purpose
    position: int
    step: int = 0
    row: int = 0
    level: int = 0
    node: int = 0


class Noise(Protocol):
    """Answers to the engine's two random questions."""

    def bernoulli(self, prob: float, at: Address) -> bool:
        """Return True with probability min(1, prob)."""
        ...

    def categorical(self, probs: NDArray[np.float64], at: Address) -> int:
        """Return token x with probability ``probs[x]``; ``probs`` of shape (V,) sums to 1."""
        ...


class PhiloxNoise:
    """The real thing: Philox4x64-10 (Salmon et al. 2011), keyed by the seed, counted by the address.

    Parameters
    ----------
    seed : int
        0 <= seed < 2**64.

    Raises
    ------
    OptionError
        If the seed is outside that range.
    """

    def __init__(self, seed: int) -> None:
        if not 0 <= seed < 2**64:
            raise OptionError(f"seed is {seed}; it must be an integer from 0 to 2**64 - 1. Try --seed 0")
        from minispec import race  # imports Numba, which takes a moment

        self.seed = seed
        self._race = race

    def _words(self, at: Address) -> NDArray[np.uint64]:
        """Return key and counter of an address. Every field has bits of its own: no two addresses share noise."""
        purpose, position, step, row, level, node = at
        if not (
            0 <= position < 2**64
            and 0 <= step < 2**64
            and 0 <= row < 2**56
            and 0 <= level < 2**32
            and 0 <= node < 2**32
        ):
            raise InvariantError(f"noise address {at} does not fit its bits; position, step < 2**64, row < 2**56")
        # As uint64, explicitly: NumPy would turn a list that mixes small numbers and some >= 2**63 into floats.
        key = self.seed, row << 8 | _PURPOSE_CODE[purpose]
        return np.array([*key, position, step, level << 32 | node], np.uint64)

    def bernoulli(self, prob: float, at: Address) -> bool:
        """Return ``u < prob`` for the address's uniform u in [0, 1)."""
        if prob <= 0.0 or prob >= 1.0:  # the comparison's answer without drawing u
            return prob >= 1.0
        with np.errstate(over="ignore"):
            return bool(self._race.uniform(self._words(at), 0) < prob)

    def categorical(self, probs: NDArray[np.float64], at: Address) -> int:
        """Run the exponential race over the support of ``probs``; a token outside it never wins.

        Raises
        ------
        InvariantError
            If no probability is positive.
        """
        # A subnormal probability may push its finishing time to infinity; and where nothing is compiled
        # (NUMBA_DISABLE_JIT), additions around 2**64 would warn.
        with np.errstate(over="ignore"):
            token = int(self._race.winner(probs, self._words(at)))
        if token < 0:
            raise InvariantError(f"no token has a positive probability at {at}")
        return token


class AuditedNoise:
    """A noise that refuses to answer twice at one address: shared randomness becomes an error instead of a bias.

    Raises
    ------
    InvariantError
        On the second read of an address.
    """

    def __init__(self, noise: Noise) -> None:
        self._noise = noise
        self.reads: set[Address] = set()

    def _read(self, at: Address) -> None:
        if at in self.reads:
            raise InvariantError(f"noise at {at} was read twice; each address answers one question")
        self.reads.add(at)

    def bernoulli(self, prob: float, at: Address) -> bool:
        """Answer once."""
        self._read(at)
        return self._noise.bernoulli(prob, at)

    def categorical(self, probs: NDArray[np.float64], at: Address) -> int:
        """Answer once."""
        self._read(at)
        return self._noise.categorical(probs, at)
