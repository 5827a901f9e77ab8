"""Plain sampling in PyTorch, many rows at once: text that the target writes, for the report and for its drafts.

Deliberately independent of minispec's own engine, so that its figures can be checked against these. Along the text that
the target was trained on it is surer than along its own, more so after many passes. A draft that is taught along both
meets the distributions that it will be judged by (DistillSpec, Zhou et al. 2023: on-policy data). A head's text is
written by minispec's engine (:mod:`minispec.lab.training.head_text`); here the target is a checkpoint, on the card that
trains.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from minispec.lab.training.data import END_ID, Batches
from minispec.lab.training.model import GPT2, Past


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
    past = Past(prompts.shape[1] + num_new)
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


@torch.inference_mode()
def continue_texts(
    model: GPT2, prompts: Sequence[Sequence[int]], num_new: int, temperature: float, seed: int
) -> list[list[int]]:
    """Continue prompts of any lengths together, each up to the end of its text.

    All rows advance by one token a step. A row whose prompt is longer than the shortest one is given its own tokens
    until the prompt is over, so none needs padding.

    Returns
    -------
    list of list of int
        In the order of the prompts: at most `num_new` tokens each, ``<|endoftext|>`` and what follows it left out.
    """
    device = next(model.parameters()).device
    generator = torch.Generator(device=device).manual_seed(seed)
    lengths = torch.tensor([len(prompt) for prompt in prompts], device=device)
    shortest, width = int(lengths.min()), int(lengths.max()) + num_new
    tokens = torch.zeros(len(prompts), width, dtype=torch.int64, device=device)
    for row, prompt in enumerate(prompts):
        tokens[row, : len(prompt)] = torch.tensor(list(prompt), device=device)
    past = Past(width)
    done = torch.zeros(len(prompts), dtype=torch.bool, device=device)
    logits = model(tokens[:, :shortest], 0, past)[:, -1]
    for place in range(shortest, width):
        chosen = choose(logits, temperature, generator)
        own = place < lengths
        tokens[:, place] = torch.where(own, tokens[:, place], chosen)
        done |= ~own & ((chosen == END_ID) | (place + 1 >= lengths + num_new))
        if done.all():
            break
        logits = model(tokens[:, place : place + 1], place, past)[:, -1]
    result = []
    for row, length in zip(tokens.tolist(), lengths.tolist(), strict=True):
        written = row[length : length + num_new]
        result.append(written[: written.index(END_ID)] if END_ID in written else written)
    return result


#: The name of that text, as one of a plan's mix.
WRITTEN = "written"
#: Temperatures, in turn; tokens given of each beginning; tokens of a row with its beginning; rows written side by side.
TEMPERATURES, BEGINNING, ROW, ROWS_AT_ONCE = (1.0, 0.5), 8, 256, 1024


def write_text(target: GPT2, beginnings: Batches, num_tokens: int) -> np.ndarray:
    """Let the target write on behind beginnings of other texts, each row up to its length.

    Parameters
    ----------
    target : GPT2
        In evaluation mode.
    beginnings : Batches
        Of the texts to begin with; its seed also seeds the drawing.
    num_tokens : int
        The least that it writes; the last rows are written whole.

    Returns
    -------
    ndarray of shape (N,), uint16
        Rows one behind the other, each ended by ``<|endoftext|>``.
    """
    device = next(target.parameters()).device
    num_rows = min(ROWS_AT_ONCE, -(-num_tokens // ROW))
    rows: list[np.ndarray] = []
    while sum(map(len, rows)) < num_tokens:
        step, temperature = len(rows), TEMPERATURES[len(rows) % len(TEMPERATURES)]
        prompts = beginnings.at(step, num_rows, BEGINNING).tokens[:, :BEGINNING]
        with torch.autocast(device.type, dtype=torch.bfloat16):
            made = continue_rows(
                target, torch.from_numpy(prompts).to(device), ROW - BEGINNING, temperature, beginnings.seed + step
            )
        tokens = made.cpu().numpy().astype(np.uint16)
        rows.append(np.pad(tokens, ((0, 0), (0, 1)), constant_values=END_ID).ravel())
    return np.concatenate(rows)
