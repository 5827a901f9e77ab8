"""llama.cpp through llama-cpp-python's low-level interface: token ids in, logits out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.peers.contender import read_context, serve


class LlamaCpp:
    """One context of one sequence, two threads, flash attention on."""

    def __init__(self, path: Path, num_threads: int) -> None:
        llama_cpp.llama_backend_init()
        self._model = llama_cpp.llama_model_load_from_file(str(path).encode(), llama_cpp.llama_model_default_params())
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = 1024
        params.n_batch = params.n_ubatch = 512
        params.n_threads = params.n_threads_batch = num_threads
        params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED
        params.no_perf = True
        self._context = llama_cpp.llama_init_from_model(self._model, params)
        self._memory = llama_cpp.llama_get_memory(self._context)
        self._vocab_size = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self._model))
        self._batch = llama_cpp.llama_batch_init(512, 0, 1)
        self._length = 0

    def forward(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """Feed tokens; logits after each."""
        batch = self._batch
        batch.n_tokens = len(tokens)
        for i, token in enumerate(tokens):
            batch.token[i] = token
            batch.pos[i] = self._length + i
            batch.n_seq_id[i] = 1
            batch.seq_id[i][0] = 0
            batch.logits[i] = 1
        if llama_cpp.llama_decode(self._context, batch) != 0:
            raise RuntimeError("llama_decode failed")
        self._length += len(tokens)
        logits = llama_cpp.llama_get_logits(self._context)
        return np.ctypeslib.as_array(logits, shape=(len(tokens), self._vocab_size))

    def rollback(self, length: int) -> None:
        """Keep the first ``length`` tokens."""
        llama_cpp.llama_memory_seq_rm(self._memory, 0, length, -1)
        self._length = min(self._length, length)


def run(number_format: str, folder: Path) -> None:
    """Serve ``FOLDER/<number_format>.gguf``."""
    import os

    @llama_cpp.llama_log_callback
    def ignore(level: int, text: bytes, data: object) -> None:
        del level, text, data

    llama_cpp.llama_log_set(ignore, None)
    engine = LlamaCpp(folder / f"{number_format}.gguf", len(os.sched_getaffinity(0)))
    serve(engine, read_context(folder))
