"""llama.cpp through llama-cpp-python's low-level interface: token ids in, logits out."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.peers.contender import read_context, rotate, serve

N_CTX = 1024
"""Slots of a sequence."""

_CPU = Path("/proc/cpuinfo")
_HAS_AMX = _CPU.exists() and " amx_int8" in _CPU.read_text()
"""With AMX kernels, for which q8_0 weights are laid out anew, llama-cpp-python 0.3.36 dies in the first forward."""


class Model:
    """Weights in memory."""

    def __init__(self, path: Path) -> None:
        llama_cpp.llama_backend_init()
        params = llama_cpp.llama_model_default_params()
        params.use_extra_bufts = not (_HAS_AMX and path.stem == "q8_0")
        self.handle = llama_cpp.llama_model_load_from_file(str(path).encode(), params)
        self.vocab_size = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.handle))


class Context:
    """A context of some sequences, all cores, flash attention on."""

    def __init__(self, model: Model, num_sequences: int = 1) -> None:
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = N_CTX * num_sequences
        params.n_seq_max = num_sequences
        params.n_batch = params.n_ubatch = 512
        params.n_threads = params.n_threads_batch = len(os.sched_getaffinity(0))
        params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED
        params.no_perf = True
        self._handle = llama_cpp.llama_init_from_model(model.handle, params)
        self._memory = llama_cpp.llama_get_memory(self._handle)
        self._vocab_size = model.vocab_size
        self._batch = llama_cpp.llama_batch_init(512, 0, 1)

    def feed(self, tokens: Sequence[int], positions: Sequence[int], sequences: Sequence[int]) -> NDArray[np.float32]:
        """Feed tokens at positions of sequences; logits after each."""
        batch = self._batch
        batch.n_tokens = len(tokens)
        for i, (token, position, sequence) in enumerate(zip(tokens, positions, sequences, strict=True)):
            batch.token[i] = token
            batch.pos[i] = position
            batch.n_seq_id[i] = 1
            batch.seq_id[i][0] = sequence
            batch.logits[i] = 1
        if llama_cpp.llama_decode(self._handle, batch) != 0:
            raise RuntimeError("llama_decode failed")
        logits = llama_cpp.llama_get_logits(self._handle)
        return np.ctypeslib.as_array(logits, shape=(len(tokens), self._vocab_size))

    def keep(self, sequence: int, length: int) -> None:
        """Keep the first ``length`` tokens of a sequence."""
        llama_cpp.llama_memory_seq_rm(self._memory, sequence, length, -1)

    def close(self) -> None:
        """Give the memory back."""
        llama_cpp.llama_batch_free(self._batch)
        llama_cpp.llama_free(self._handle)


class LlamaCpp:
    """One sequence that can go back."""

    def __init__(self, model: Model) -> None:
        self._context = Context(model)
        self._length = 0

    def forward(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """Feed tokens; logits after each."""
        start, self._length = self._length, self._length + len(tokens)
        return self._context.feed(tokens, range(start, self._length), [0] * len(tokens))

    def rollback(self, length: int) -> None:
        """Keep the first ``length`` tokens."""
        self._context.keep(0, length)
        self._length = min(self._length, length)


def decode_together(model: Model, prompts: Sequence[Sequence[int]], count: int) -> dict[str, Any]:
    """Decode texts of one length greedily, each by ``count`` tokens: seconds per token after the prompts."""
    context, num_texts, length = Context(model, len(prompts)), len(prompts), len(prompts[0])
    tokens = []
    for i, prompt in enumerate(prompts):
        tokens.append(int(np.argmax(context.feed(prompt, range(length), [i] * length)[-1])))
    ids = [[token] for token in tokens]
    started = time.perf_counter()
    for position in range(length, length + count - 1):
        logits = context.feed(tokens, [position] * num_texts, range(num_texts))
        tokens = np.argmax(logits, axis=-1).tolist()
        for text, token in zip(ids, tokens, strict=True):
            text.append(token)
    seconds = time.perf_counter() - started
    context.close()
    return {"seconds": seconds / (num_texts * (count - 1)), "ids": ids}


def run(number_format: str, folder: Path) -> None:
    """Serve ``FOLDER/<number_format>.gguf``."""

    @llama_cpp.llama_log_callback
    def ignore(level: int, text: bytes, data: object) -> None:
        del level, text, data

    llama_cpp.llama_log_set(ignore, None)
    model, context = Model(folder / f"{number_format}.gguf"), read_context(folder)
    together = {"together": lambda batch, count: decode_together(model, rotate(context, batch), count)}
    serve(LlamaCpp(model), context, together)
