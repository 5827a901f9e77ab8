"""What a draft is worth: perplexity on held-out text, alpha and mean acceptance length on text the target wrote.

With p the target's and q the draft's distribution after the same prefix, a drafted token is accepted with probability
``sum(min(p, q))``; alpha is its mean. Over one text of the target's the whole walk of speculative decoding can be
replayed: given that x was emitted (a draw from p), it was an accepted draft with probability ``min(p, q)(x) / p(x) =
min(1, q(x) / p(x))``. So no second generation is needed, and several drafts are judged on the same text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from minispec.training.generate import continue_rows
from minispec.training.model import GPT2
from minispec.training.trainer import mean_loss


@dataclass(frozen=True)
class Agreement:
    """How well a draft predicts a target.

    Attributes
    ----------
    alpha : float
        Mean of ``sum(min(p, q))`` over positions.
    mean_acceptance_length : float
        Tokens emitted per target forward.
    """

    alpha: float
    mean_acceptance_length: float


def perplexity(model: GPT2, rows: np.ndarray, device: str) -> float:
    """Return exp(mean cross-entropy) over held-out rows."""
    with torch.inference_mode():
        return math.exp(mean_loss(model, torch.from_numpy(rows), device))


def law(logits: Tensor, temperature: float) -> Tensor:
    """Return the distributions decoding draws from; at temperature 0 all mass is on the best token."""
    if temperature == 0.0:
        return functional.one_hot(logits.argmax(dim=-1), logits.shape[-1]).double()
    return functional.softmax(logits.double() / temperature, dim=-1)


def walk(accept: np.ndarray, gamma: int, rng: np.random.Generator) -> tuple[int, int]:
    """Replay speculative decoding along rows whose tokens are accepted with the given probabilities.

    Parameters
    ----------
    accept : ndarray of shape (B, T)
        For each emitted token the probability that, had it been drafted, it was accepted.
    gamma : int
        Drafted tokens per step.

    Returns
    -------
    (int, int)
        Tokens emitted and target forwards used, counting whole steps only.
    """
    num_tokens = num_steps = 0
    accepted = rng.random(accept.shape) < accept
    for row in accepted:
        position = 0
        while position + gamma < len(row):  # a step emits at most gamma + 1 tokens
            hits = row[position : position + gamma]
            num_hits = gamma if hits.all() else int(hits.argmin())
            position += num_hits + 1  # the recovered or bonus token ends the step
            num_tokens += num_hits + 1
            num_steps += 1
    return num_tokens, num_steps


@torch.inference_mode()
def agreement(
    target: GPT2, drafts: Mapping[str, GPT2], prompts: Tensor, num_new: int, temperature: float, gamma: int, seed: int
) -> dict[str, Agreement]:
    """Let the target continue the prompts, then judge every draft on those continuations.

    Parameters
    ----------
    prompts : Tensor of shape (B, T), int64
        Held-out beginnings.
    num_new : int
        Tokens the target writes per row.
    """
    rows = continue_rows(target, prompts, num_new, temperature, seed)
    overlap: dict[str, list[np.ndarray]] = {name: [] for name in drafts}
    accept: dict[str, list[np.ndarray]] = {name: [] for name in drafts}
    for part in torch.split(rows, 8):
        inputs, written = part[:, :-1], part[:, prompts.shape[1] :, None]
        p = law(target(inputs)[:, -num_new:], temperature)  # (b, num_new, V)
        for name, draft in drafts.items():
            q = law(draft(inputs)[:, -num_new:], temperature)
            overlap[name].append(torch.minimum(p, q).sum(-1).cpu().numpy())
            # min(1, q(x) / p(x)); p(x) is 0 only where rounding moved a greedy tie, and there q(x) decides
            ratio = q.gather(-1, written) / p.gather(-1, written).clamp(min=1e-300)
            accept[name].append(ratio.clamp(max=1.0)[..., 0].cpu().numpy())
    result = {}
    for name in drafts:
        num_tokens, num_steps = walk(np.concatenate(accept[name]), gamma, np.random.default_rng(seed))
        result[name] = Agreement(float(np.concatenate(overlap[name]).mean()), num_tokens / num_steps)
    return result
