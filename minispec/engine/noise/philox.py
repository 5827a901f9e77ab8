"""Beside stop 12: the noise of a run, a pure function of its seed and of the address.

:mod:`minispec.engine.noise.race` computes the noise of the tokens that can win, and of no others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minispec.engine.noise import Address, Purpose
from minispec.errors import InvariantError, OptionError, quote

_PURPOSE_CODE: dict[Purpose, int] = {"sample": 0, "draft": 1, "accept": 2, "residual": 3, "bonus": 4}


class PhiloxNoise:
    """Philox4x64-10 (Salmon et al. 2011), keyed by the seed, counted by the address.

    Parameters
    ----------
    seed : int
        0 <= seed < 2**64.
    row : int
        Tells apart requests that share a seed; 0 <= row < 2**56.

    Raises
    ------
    OptionError
        If the seed is outside its range.
    """

    def __init__(self, seed: int, row: int = 0) -> None:
        if not 0 <= seed < 2**64:
            raise OptionError(f"seed is {quote(seed)}; it must be an integer from 0 to 2**64 - 1. Try --seed 0")
        if not 0 <= row < 2**56:
            raise InvariantError(f"row {row} of a noise does not fit its bits; row < 2**56")
        from minispec.engine.noise import race  # imports Numba, which takes a moment

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
        return bool(self._race.uniform(self._words(at), 0) < prob)

    def categorical(self, probs: NDArray[np.float64], at: Address) -> int:
        """Run the exponential race over the support of ``probs``; a token outside it never wins.

        Raises
        ------
        InvariantError
            If no probability is positive.
        """
        likeliest = int(probs.argmax())
        if probs[likeliest] == 1.0:  # it wins whatever the noise; at temperature 0 each row is like that
            return likeliest
        token = int(self._race.find_winner(probs, self._words(at)))
        if token < 0:
            raise InvariantError(f"no token has a positive probability at {at}")
        return token
