"""minispec itself, in the number formats it reads weights in; and the reference, which is NumPy with a KV cache."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minispec.engine.backends import BACKENDS
from minispec.engine.generation import stream
from minispec.engine.generation.events import Emitted
from minispec.engine.loading import load_model
from minispec.engine.loading.bundled import DEFAULT_DRAFT
from minispec.engine.model import GPT2
from minispec.lab.bench.costs import PLAIN
from minispec.lab.bench.together import decode_together
from tests.benchmarks.peers.contender import read_context, rotate, serve

DRAFT_DTYPE = "float16"
"""The bundled drafts are stored in it: the values are the same as in float32, half the bytes."""


class Ours:
    """A session."""

    def __init__(self, model: GPT2) -> None:
        self._session = model.session()

    def forward(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """Feed tokens; logits after each."""
        return self._session.score(tokens)

    def rollback(self, length: int) -> None:
        """Keep the first ``length`` tokens."""
        self._session.rollback(length)


def run(number_format: str, folder: Path) -> None:
    """Serve ``number_format`` on the default backend, or float32 on the backend of that name.

    Keys and values are float32, or what stands behind "kv": ``float16 kv float16``.
    """
    number_format, _, kv_dtype = number_format.partition(" kv ")
    backend, dtype = (number_format, "float32") if number_format in BACKENDS else (BACKENDS[0], number_format)
    model = load_model(str(folder / "hf"), backend, dtype, kv_dtype or "float32")
    model.backend.warm_up(model.dtype, model.kv_dtype)
    extra = {"together": lambda batch, count: _decode_together(model, rotate(read_context(folder), batch), count)}
    if folder.name == "bundled" and backend == BACKENDS[0]:
        draft = load_model(DEFAULT_DRAFT, backend, DRAFT_DTYPE)
        extra["generate"] = lambda **options: _generate(model, draft, **options)
    serve(Ours(model), read_context(folder), extra)


def _decode_together(model: GPT2, prompts: Sequence[Sequence[int]], count: int) -> dict[str, Any]:
    """Decode texts with the batched engine, each by ``count`` tokens: seconds per token after the prompts."""
    found = decode_together(model, model, prompts, PLAIN, count)
    return {"seconds": 1 / found.tokens_per_s, "ids": [list(each.token_ids) for each in found.generations]}


def _generate(
    target: GPT2, draft: GPT2, prompts: Sequence[str], gamma: int, temperature: float, count: int
) -> dict[str, Any]:
    """Continue each prompt by up to ``count`` tokens, plainly at gamma 0; seconds per token after the first.

    The prefill is left out, and so is the draft's, which lies behind the first token. What counts is the time of all
    prompts over the tokens of all prompts.
    """
    seconds, num_tokens, ids = 0.0, 0, []
    for prompt in prompts:
        run = stream(
            prompt,
            target=target,
            draft=draft if gamma else None,
            gamma=gamma or 5,
            temperature=temperature,
            top_p=0.95 if temperature else 1.0,
            max_tokens=count,
            seed=1,
        )
        times: list[float] = []
        for event in run:
            if isinstance(event, Emitted):
                ids += event.token_ids
                times.append(time.perf_counter())
        metrics = run.generation.metrics
        assert metrics.ttft_s is not None
        seconds += times[-1] - times[0] - (metrics.prefill_s - metrics.ttft_s)
        num_tokens += metrics.num_decode_tokens
    return {"seconds": seconds / num_tokens, "ids": ids}
