"""What a draft is asked for: the next token of the text, and the target's whole distribution over it.

The acceptance probability at a position is ``alpha = sum(min(p, q)) = 1 - TV(p, q)``, and ``TV <= sqrt(KL(p ‖ q) / 2)``
(Pinsker): driving the divergence down drives acceptance up. Unlike the text, p says how good every *other* token would
have been. A draft may also be trained on acceptance itself, by ``-log alpha``; DistillSpec (Zhou et al. 2023) trains on
``1 - alpha``, whose gradient nearly vanishes where p and q hardly overlap.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from minispec.lab.training.model import GPT2


def loss_of(
    model: GPT2,
    rows: Tensor,
    offsets: Tensor,
    teacher_logits: Tensor | None,
    kl_weight: float,
    acceptance_weight: float = 0.0,
) -> Tensor:
    """Return the training loss of `model` on a batch.

    Parameters
    ----------
    rows : Tensor of shape (B, T + 1), int64
        Inputs and, one to the right, targets.
    offsets : Tensor of shape (B,), int64
        Position of each row's first token.
    teacher_logits : Tensor of shape (B, T, V), optional
        The target's logits on the same inputs.
    kl_weight, acceptance_weight : float
        v and w in ``v * KL(p ‖ q) - w * log(alpha) + (1 - v - w) * cross_entropy``; without a teacher the loss is the
        cross-entropy.
    """
    logits = model(rows[:, :-1], offsets).float().flatten(0, 1)  # (B * T, V)
    cross_entropy = functional.cross_entropy(logits, rows[:, 1:].flatten())
    if teacher_logits is None:
        return cross_entropy
    log_q = functional.log_softmax(logits, dim=-1)
    log_p = functional.log_softmax(teacher_logits.float().flatten(0, 1), dim=-1)
    loss = (1.0 - kl_weight - acceptance_weight) * cross_entropy
    if kl_weight:  # KL(p ‖ q) = sum p (log p - log q), the mean over positions
        loss = loss + kl_weight * functional.kl_div(log_q, log_p, reduction="batchmean", log_target=True)
    if acceptance_weight:
        loss = loss - acceptance_weight * torch.minimum(log_p, log_q).logsumexp(dim=-1).mean()
    return loss
