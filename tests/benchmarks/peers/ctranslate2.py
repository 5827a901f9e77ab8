"""CTranslate2, which generates whole texts only: a token's time is the difference of two lengths."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import transformers
from ctranslate2.converters import TransformersConverter

from tests.benchmarks.peers.contender import listen, read_context, wake

_SHORT = 4


class _Converter(TransformersConverter):
    """Takes any tokens as the vocabulary: only ids matter here."""

    def load_tokenizer(self, tokenizer_class: Any, model_name_or_path: str, **kwargs: Any) -> Any:
        del tokenizer_class, kwargs
        size = json.loads((Path(model_name_or_path) / "config.json").read_text())["vocab_size"]
        tokens = {f"t{i}": i for i in range(size)}

        class Tokens:
            bos_token = eos_token = unk_token = "t0"

            def get_vocab(self) -> dict[str, int]:
                return tokens

        return Tokens()


def run(number_format: str, folder: Path) -> None:
    """Serve, converting first if need be."""
    converted = folder / "ct2"
    if not (converted / "model.bin").exists():
        transformers.logging.set_verbosity_error()
        _Converter(str(folder / "hf")).convert(str(converted), force=True)
    generator = ctranslate2.Generator(
        str(converted),
        device="cpu",
        compute_type=number_format,
        inter_threads=1,
        intra_threads=len(os.sched_getaffinity(0)),
    )
    prompt = [f"t{token}" for token in read_context(folder)]

    def timed(count: int) -> tuple[float, list[int]]:
        started = time.perf_counter()
        result = generator.generate_batch(
            [prompt],
            max_length=count,
            min_length=count,
            sampling_topk=1,
            beam_size=1,
            include_prompt_in_result=False,
            end_token=[],
        )[0]
        return time.perf_counter() - started, result.sequences_ids[0]

    def decode(count: int) -> dict[str, Any]:
        wake(lambda: timed(_SHORT))
        short = float(np.median([timed(_SHORT)[0] for _ in range(3)]))
        seconds, ids = timed(count + _SHORT)
        return {"seconds": (seconds - short) / count, "ids": ids[:count]}

    listen({"decode": decode})
