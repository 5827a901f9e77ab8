"""Stop 13 of 14: where randomness enters.

The engine asks two questions and no others: ``bernoulli(prob)`` and ``categorical(probs)``. Every answer has an
*address*, and the noise behind it is a pure function of (seed, address): nothing is streamed, so no question can
shift the answer to another.

- ``sample`` noise is addressed by the position alone. Plain decoding uses it, and any rule that couples itself to
  plain decoding.
- ``draft``, ``accept``, ``residual`` and ``bonus`` noise is addressed by the step too: after a rejection the same
  position is drafted again, and reusing its noise would bias every rule that looks at discarded drafts.

Rules and drafters never write an address. They are handed the :class:`Coins` of a step, and say what they ask for and
for which of its tokens.

``categorical`` *is* the exponential race: token x wins iff E_x / p_x is smallest, with E_x = -log(1 - u_x) ~ Exp(1)
independent. :mod:`minispec.race` computes the noise of the tokens that can win and of no others.

Next: `generation/api.py`, where all of it is put together.
"""

from __future__ import annotations

from dataclasses import dataclass
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
    step, level, node : int
        The step (0 for ``sample`` noise) and, for trees and cascades, the level and the node.
    """

    purpose: Purpose
    position: int
    step: int = 0
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


@dataclass(frozen=True, slots=True)
class Coins:
    """The noise of one step of one request.

    Place i is the i-th token that the step may emit, from 0.

    Parameters
    ----------
    noise : Noise
    position : int
        Of place 0 in the sequence, i.e. how many tokens are committed.
    step : int
        Number of the step.
    level, node : int
        Tell a cascade's inner draws from the outer ones.
    """

    noise: Noise
    position: int
    step: int = 0
    level: int = 0
    node: int = 0

    def accept(self, i: int, prob: float, node: int = 0) -> bool:
        """Accept a candidate for place ``i`` with probability min(1, prob); ``node`` is its node in a tree."""
        return self.noise.bernoulli(prob, self._at("accept", i, node))

    def residual(self, i: int, probs: NDArray[np.float64]) -> int:
        """Draw the token that replaces a rejected one at place ``i``."""
        return self.noise.categorical(probs, self._at("residual", i))

    def bonus(self, i: int, probs: NDArray[np.float64]) -> int:
        """Draw the token at place ``i``, behind a draft that was accepted whole."""
        return self.noise.categorical(probs, self._at("bonus", i))

    def draft(self, i: int, probs: NDArray[np.float64], node: int = 0) -> int:
        """Draw a candidate for place ``i``."""
        return self.noise.categorical(probs, self._at("draft", i, node))

    def sample(self, i: int, probs: NDArray[np.float64]) -> int:
        """Draw the token at place ``i`` as plain sampling of that position does, whatever the step."""
        return self.noise.categorical(probs, Address("sample", self.position + i, 0, self.level, self.node))

    def _at(self, purpose: Purpose, i: int, node: int = 0) -> Address:
        return Address(purpose, self.position + i, self.step, self.level, node or self.node)


class PhiloxNoise:
    """The real thing: Philox4x64-10 (Salmon et al. 2011), keyed by the seed, counted by the address.

    Parameters
    ----------
    seed : int
        0 <= seed < 2**64.
    row : int
        Tells apart samples that share a seed; 0 <= row < 2**56.

    Raises
    ------
    OptionError
        If the seed is outside its range.
    """

    def __init__(self, seed: int, row: int = 0) -> None:
        if not 0 <= seed < 2**64:
            raise OptionError(f"seed is {seed}; it must be an integer from 0 to 2**64 - 1. Try --seed 0")
        if not 0 <= row < 2**56:
            raise InvariantError(f"row {row} of a noise does not fit its bits; row < 2**56")
        from minispec import race  # imports Numba, which takes a moment

        self.seed = seed
        self.row = row
        self._race = race

    def _words(self, at: Address) -> NDArray[np.uint64]:
        """Return key and counter of an address. Every field has bits of its own: no two addresses share noise."""
        purpose, position, step, level, node = at
        if not (0 <= position < 2**64 and 0 <= step < 2**64 and 0 <= level < 2**32 and 0 <= node < 2**32):
            raise InvariantError(f"noise address {at} does not fit its bits; position, step < 2**64, others < 2**32")
        # As uint64, explicitly: NumPy would turn a list that mixes small numbers and some >= 2**63 into floats.
        key = self.seed, self.row << 8 | _PURPOSE_CODE[purpose]
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
