"""What the target thought of each emitted token: log probabilities, p, q and the acceptance probability."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from minispec.records import Draft, TokenDetail, Verdict


def describe_tokens(
    logits: NDArray[np.float32], target_probs: NDArray[np.float64], draft: Draft, verdict: Verdict
) -> list[TokenDetail]:
    """Return one detail per token of a verdict: the accepted drafts, then the next token.

    Parameters
    ----------
    logits : ndarray of shape (G + 1, V)
        The target's, before processing.
    target_probs : ndarray of shape (G + 1, V)
        After processing.
    draft : Draft
    verdict : Verdict
    """
    details = []
    row = 0
    for number, node in enumerate(verdict.accepted):
        token = draft.tokens[node]
        accept_prob = _accept_prob(draft, verdict, number)
        details.append(_detail(logits[row], target_probs[row], token, float(draft.probs[node, token]), accept_prob))
        row = node + 1
    details.append(_detail(logits[row], target_probs[row], verdict.next_token, None, None))
    return details


def _accept_prob(draft: Draft, verdict: Verdict, number: int) -> float | None:
    """Return the coin's probability; a tree's verdict lists rejected siblings too, so there it has no fixed place."""
    return verdict.accept_probs[number] if draft.is_chain else None


def _detail(
    logits: NDArray[np.float32], probs: NDArray[np.float64], token: int, q: float | None, accept_prob: float | None
) -> TokenDetail:
    row = logits.astype(np.float64)
    shifted = row - row.max()
    logprob = float(shifted[token] - math.log(np.exp(shifted).sum()))
    p = float(probs[token])
    return TokenDetail(logprob, math.log(p) if p > 0.0 else -math.inf, p, q, accept_prob)
