"""The verifier protocol."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from minispec.noise import Noise
from minispec.records import Draft, Verdict


class Verify(Protocol):
    """A rule that turns a draft and the target's distributions into a verdict."""

    def __call__(
        self, draft: Draft, target_probs: NDArray[np.float64], noise: Noise, *, position: int, step: int, row: int = 0
    ) -> Verdict:
        """Decide.

        Parameters
        ----------
        draft : Draft
            G tokens.
        target_probs : ndarray of shape (G + 1, V)
            Row i is the target's distribution for the token at ``position + i``, given the drafts before it.
        noise : Noise
        position : int
            Position of the first drafted token.
        step, row : int
            Parts of the noise's address.
        """
        ...
