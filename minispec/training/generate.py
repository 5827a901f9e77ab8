"""Plain sampling in PyTorch, many rows at once: what the report reads is text the target itself wrote.

Deliberately independent of minispec's own engine, so that its figures can be checked against these.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import torch
from torch import Tensor
from torch.nn import functional

from minispec.training.data import END_ID
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
    """Continue every row by `num_new` tokens, or by fewer once every row has had its end of text.

    Parameters
    ----------
    prompts : Tensor of shape (B, T), int64

    Returns
    -------
    Tensor of shape (B, T + num_new), int64
        What stands after a row's first ``<|endoftext|>`` is another text.
    """
    generator = torch.Generator(device=prompts.device).manual_seed(seed)
    past: Past = []
    tokens = [prompts]
    ended = torch.zeros(len(prompts), dtype=torch.bool, device=prompts.device)
    logits = model(prompts, 0, past)[:, -1]
    for number in range(num_new):
        chosen = choose(logits, temperature, generator)
        ended |= chosen == END_ID
        tokens.append(chosen[:, None])
        if ended.all():
            break
        if number + 1 < num_new:
            logits = model(tokens[-1], prompts.shape[1] + number, past)[:, -1]
    return torch.cat(tokens, dim=1)


def continue_texts(
    model: GPT2, prompts: Sequence[Sequence[int]], num_new: int, temperature: float, seed: int
) -> list[list[int]]:
    """Continue prompts of any lengths, each up to the end of its text.

    Prompts of one length go through the model together.

    Returns
    -------
    list of list of int
        In the order of the prompts: at most `num_new` tokens each, ``<|endoftext|>`` and what follows it left out.
    """
    device = next(model.parameters()).device
    result: list[list[int]] = [[] for _ in prompts]
    order = sorted(range(len(prompts)), key=lambda number: len(prompts[number]))
    for _, group in groupby(order, key=lambda number: len(prompts[number])):
        numbers = list(group)
        start = torch.tensor([list(prompts[number]) for number in numbers], device=device)
        rows = continue_rows(model, start, num_new, temperature, seed)[:, start.shape[1] :].tolist()
        for number, row in zip(numbers, rows, strict=True):
            result[number] = row[: row.index(END_ID)] if END_ID in row else row
    return result
