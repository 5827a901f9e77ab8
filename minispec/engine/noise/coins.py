"""Stop 12 of 13: where randomness enters.

The engine asks two questions and no others: ``bernoulli(prob)`` and ``categorical(probs)``. Every answer has an
*address*, and the noise behind it is a pure function of (seed, address): nothing is streamed, so no question can
shift the answer to another.

- ``sample`` noise is addressed by the position alone. Plain decoding uses it, and so do rules that are coupled to it.
- ``draft``, ``accept``, ``residual`` and ``bonus`` noise is addressed by the step too: after a rejection the same
  position is drafted again, and reusing its noise would bias every rule that looks at discarded drafts.

Rules and drafters never write an address. They ask the :class:`Coins` of a step, and say for which of its tokens.

``categorical`` *is* the exponential race: token x wins iff E_x / p_x is smallest, with E_x = -log(1 - u_x) ~ Exp(1)
independent. :mod:`minispec.engine.noise.philox` answers so.

Next: `generation/api.py`, where all of it is put together.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from minispec.engine.frozen import record

Purpose = Literal["sample", "draft", "accept", "residual", "bonus"]


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


@record(frozen=True, slots=True)
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
