"""Noise that notices when it is read twice."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minispec.engine.noise import Address, Noise
from minispec.errors import InvariantError


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
