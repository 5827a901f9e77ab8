"""Text that the target writes: what its drafts will be asked for, and so what they are taught along.

Along the text that the target was trained on it is surer than along its own, more so after many passes. A draft that is
taught along both meets the distributions that it will be judged by (DistillSpec, Zhou et al. 2023: on-policy data). A
head's text is written by minispec's engine (:mod:`minispec.lab.training.head_text`); here the target is a checkpoint,
on the card that trains.
"""

from __future__ import annotations

import numpy as np
import torch

from minispec.lab.training.data import END_ID, Batches
from minispec.lab.training.generate import continue_rows
from minispec.lab.training.model import GPT2

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
