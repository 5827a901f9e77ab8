"""Processors that depend on the text so far: each changes one row of logits given the tokens it follows.

In speculative decoding "the text so far" of a drafted position includes the drafts before it. So a row is always
processed together with its own prefix, draft and target alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Logits = NDArray[np.float64]


def repetition_penalty(logits: Logits, tokens: Sequence[int], penalty: float) -> Logits:
    """Divide positive logits of tokens that occurred (prompt included) by ``penalty``, multiply negative ones.

    Keskar et al. 2019 (CTRL), in the form Hugging Face transformers gave it.
    """
    seen = np.unique(np.asarray(tokens, np.int64))
    out = logits.copy()
    out[seen] = np.where(logits[seen] > 0.0, logits[seen] / penalty, logits[seen] * penalty)
    return out


def presence_and_frequency(logits: Logits, generated: Sequence[int], presence: float, frequency: float) -> Logits:
    """Subtract ``presence`` once and ``frequency`` per occurrence from tokens that were generated (prompt excluded)."""
    seen, counts = np.unique(np.asarray(generated, np.int64), return_counts=True)
    out = logits.copy()
    out[seen] -= presence + frequency * counts
    return out


def forbid(logits: Logits, tokens: Sequence[int]) -> Logits:
    """Set the logits of ``tokens`` to minus infinity."""
    out = logits.copy()
    out[np.asarray(tokens, np.int64)] = -np.inf
    return out
