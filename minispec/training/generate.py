"""Plain sampling in PyTorch, many rows at once: what the report reads is text the target itself wrote.

Deliberately independent of minispec's own engine, so that its figures can be checked against these.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from minispec.training.model import GPT2, Past


def choose(logits: Tensor, temperature: float, generator: torch.Generator) -> Tensor:
    """Draw one token a row; temperature 0 is greedy.

    Parameters
    ----------
    logits : Tensor of shape (B, V)

    Returns
    -------
    Tensor of shape (B,), int64
    """
    if temperature == 0.0:
        return logits.argmax(dim=-1)
    probs = functional.softmax(logits.double() / temperature, dim=-1)
    return torch.multinomial(probs, 1, generator=generator)[:, 0]


@torch.inference_mode()
def continue_rows(model: GPT2, prompts: Tensor, num_new: int, temperature: float, seed: int) -> Tensor:
    """Continue every row by `num_new` tokens.

    Parameters
    ----------
    prompts : Tensor of shape (B, T), int64

    Returns
    -------
    Tensor of shape (B, T + num_new), int64
    """
    generator = torch.Generator(device=prompts.device).manual_seed(seed)
    past: Past = []
    tokens = [prompts]
    logits = model(prompts, 0, past)[:, -1]
    for number in range(num_new):
        tokens.append(choose(logits, temperature, generator)[:, None])
        if number + 1 < num_new:
            logits = model(tokens[-1], prompts.shape[1] + number, past)[:, -1]
    return torch.cat(tokens, dim=1)
