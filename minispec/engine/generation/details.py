"""Details of each emitted token: the target's log probabilities, p, q and the acceptance probability."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from minispec.engine.records import Draft, Likely, TokenDetail, Verdict
from minispec.engine.sampling.likeliest import find_likeliest

NUM_LIKELY = 5
"""Likely tokens that are recorded of each place."""


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
        details.append(
            describe_token(logits[row], target_probs[row], token, float(draft.probs[node, token]), accept_prob)
        )
        row = node + 1
    details.append(describe_token(logits[row], target_probs[row], verdict.next_token, None, None))
    return details


def find_target_probs(target_probs: NDArray[np.float64], draft: Draft) -> tuple[float, ...]:
    """Return p of each drafted token; ``target_probs`` has shape (G + 1, V)."""
    parents = range(-1, len(draft) - 1) if draft.parents is None else draft.parents
    return tuple(float(target_probs[parent + 1, token]) for token, parent in zip(draft.tokens, parents, strict=True))


def _accept_prob(draft: Draft, verdict: Verdict, number: int) -> float | None:
    """Return the coin's probability; a tree's verdict lists rejected siblings too, so there it has no fixed place."""
    return verdict.accept_probs[number] if draft.is_chain else None


def describe_token(
    logits: NDArray[np.float32],
    probs: NDArray[np.float64],
    token: int,
    q: float | None = None,
    accept_prob: float | None = None,
) -> TokenDetail:
    """Return the detail of one token; both arrays are of shape (V,), ``probs`` after processing."""
    row = logits.astype(np.float64)
    shifted = row - row.max()
    logprobs = shifted - math.log(np.exp(shifted).sum())
    p = float(probs[token])
    return TokenDetail(
        logprob=float(logprobs[token]),
        processed_logprob=math.log(p) if p > 0.0 else -math.inf,
        target_prob=p,
        draft_prob=q,
        accept_prob=accept_prob,
        top=tuple(Likely(i, float(logprobs[i]), float(probs[i])) for i in find_likeliest(logits, NUM_LIKELY).tolist()),
    )
