"""Weights that know tokens by number, taken over to another vocabulary.

A model trained with one vocabulary has learnt more than its words. A token that both vocabularies have keeps its
embedding; a new one begins as the mean of the old tokens its text falls into. After some hundred steps of training the
model has settled in; from fresh weights that takes as many thousands.
"""

from __future__ import annotations

import torch
from tokenizers import Tokenizer

from minispec.lab.training.model import GPT2


@torch.no_grad()
def carry_over(model: GPT2, old: Tokenizer, new: Tokenizer) -> int:
    """Replace the token embeddings, which are the head too, by ones for another vocabulary of the same size.

    Parameters
    ----------
    model : GPT2
        Changed in place.
    old, new : Tokenizer
        Byte-level BPE tokenizers: what the model was trained with, and what it is to be trained with.

    Returns
    -------
    int
        Tokens that both vocabularies have.
    """
    known, before = old.get_vocab(), model.wte.weight.clone()
    shared = 0
    for text, number in new.get_vocab().items():
        if text in known:
            shared += 1
            model.wte.weight[number] = before[known[text]]
        else:
            model.wte.weight[number] = before[[piece.id for piece in old.model.tokenize(text)]].mean(0)
    return shared
