"""What a draft is worth: alpha and mean acceptance length on text the target wrote.

With p the target's and q the draft's distribution after the same prefix, a drafted token is accepted with probability
``sum(min(p, q))``; alpha is its mean. Over one text of the target's the whole walk of speculative decoding can be
replayed: given that x was emitted (a draw from p), it was an accepted draft with probability ``min(p, q)(x) / p(x) =
min(1, q(x) / p(x))``. So no second generation is needed, and several drafts are judged on the same text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from minispec.lab.training.data import END_ID
from minispec.lab.training.generate import continue_rows
from minispec.lab.training.model import GPT2
from minispec.theory.intervals import Figure, share_of_texts


@dataclass(frozen=True)
class Agreement:
    """How well a draft predicts a target.

    Attributes
    ----------
    alpha : Figure
        Mean of ``sum(min(p, q))`` over positions, and its 95 % interval (rows independent).
    mean_acceptance_length : float
        Tokens emitted per target forward.
    """

    alpha: Figure
    mean_acceptance_length: float


def law(logits: Tensor, temperature: float) -> Tensor:
    """Return the distributions decoding draws from; at temperature 0 all mass is on the best token."""
    if temperature == 0.0:
        return functional.one_hot(logits.argmax(dim=-1), logits.shape[-1]).double()
    return functional.softmax(logits.double() / temperature, dim=-1)


def walk(accept: Sequence[np.ndarray], gamma: int, rng: np.random.Generator) -> tuple[int, int]:
    """Replay speculative decoding along rows whose tokens are accepted with the given probabilities.

    Parameters
    ----------
    accept : sequence of ndarray of shape (T,)
        For each emitted token of each row the probability that, had it been drafted, it was accepted.
    gamma : int
        Drafted tokens per step.

    Returns
    -------
    (int, int)
        Tokens emitted and target forwards used, counting whole steps only.
    """
    num_tokens = num_steps = 0
    for probabilities in accept:
        row = rng.random(len(probabilities)) < probabilities
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
    """Let the target continue the prompts up to the ends of their texts, then judge every draft on what it wrote.

    Parameters
    ----------
    prompts : Tensor of shape (B, T), int64
        Held-out beginnings.
    num_new : int
        Tokens the target writes per row, at most.
    """
    rows = continue_rows(target, prompts, num_new, temperature, seed)
    num_new = rows.shape[1] - prompts.shape[1]
    lengths = [written.index(END_ID) + 1 if END_ID in written else num_new for written in rows[:, -num_new:].tolist()]
    overlap: dict[str, list[np.ndarray]] = {name: [] for name in drafts}
    accept: dict[str, list[np.ndarray]] = {name: [] for name in drafts}
    for part in torch.split(rows, 8):
        inputs, written = part[:, :-1], part[:, prompts.shape[1] :, None]
        p = law(target(inputs)[:, -num_new:], temperature)  # (b, num_new, V)
        for name, draft in drafts.items():
            q = law(draft(inputs)[:, -num_new:], temperature)
            overlap[name] += list(torch.minimum(p, q).sum(-1).cpu().numpy())
            # min(1, q(x) / p(x)); p(x) is 0 only where rounding moved a greedy tie, and there q(x) decides
            quotient = q.gather(-1, written) / p.gather(-1, written).clamp(min=1e-300)
            accept[name] += list(quotient.clamp(max=1.0)[..., 0].cpu().numpy())
    result = {}
    for name in drafts:
        sums = [row[:length].sum() for row, length in zip(overlap[name], lengths, strict=True)]
        rows_up_to_end = [row[:length] for row, length in zip(accept[name], lengths, strict=True)]
        num_tokens, num_steps = walk(rows_up_to_end, gamma, np.random.default_rng(seed))
        result[name] = Agreement(share_of_texts(sums, lengths), num_tokens / max(1, num_steps))
    return result


def mean_alpha(agreement: Mapping[str, Any], temperature: str) -> Figure:
    """Return a draft's alpha averaged over domains, with the interval of a mean of independent figures."""
    cells = [domain[temperature] for domain in agreement.values()]
    value = sum(cell["alpha"] for cell in cells) / len(cells)
    below, above = (
        math.sqrt(sum((cell["alpha"] - cell["interval"][side]) ** 2 for cell in cells)) / len(cells) for side in (0, 1)
    )
    return Figure(value, value - below, value + above)
