"""Hugging Face transformers on torch, eager, with its dynamic cache."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import DynamicCache, GPT2LMHeadModel

from tests.benchmarks.peers.contender import read_context, serve


class Transformers:
    """One sequence."""

    def __init__(self, folder: Path) -> None:
        self._model = GPT2LMHeadModel.from_pretrained(folder, dtype=torch.float32).eval()
        self._cache = DynamicCache(config=self._model.config)

    @torch.inference_mode()
    def forward(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """Feed tokens; logits after each."""
        logits = self._model(torch.tensor([tokens]), past_key_values=self._cache, use_cache=True).logits
        return np.asarray(logits[0].numpy(), np.float32)

    def rollback(self, length: int) -> None:
        """Keep the first ``length`` tokens."""
        if length == 0:
            self._cache = DynamicCache(config=self._model.config)
        elif self._cache.get_seq_length() > length:
            self._cache.crop(length - self._cache.get_seq_length())  # this version takes what to remove


def run(number_format: str, folder: Path) -> None:
    """Serve the Hugging Face form in float32."""
    assert number_format == "float32"
    serve(Transformers(folder / "hf"), read_context(folder))
