"""Peak memory of ``generate`` and ``batch`` beside what they have to hold: ``python -m tests.benchmarks.memory``.

Random models of GPT-2's shapes are written to a temporary folder; each run is a process of its own, whose largest
resident set the system reports when it ends. What must be held: the packed weights of target and draft and both caches.
Compiled kernels are made first, so that the compiler's memory is not counted.

Of a batch, the pages are compared: the same requests, which fill a large budget for keys and values, are run with
that and with a small one. The difference of the peaks is what the additional pages take, of target and draft.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from minispec.engine.backends.formats import ITEM_BYTES
from minispec.engine.batching.models import SharedModels
from minispec.engine.loading.bundled import DEFAULT_DRAFT, DEFAULT_TARGET
from minispec.engine.loading.memory import needed_bytes
from minispec.engine.model import GPT2Config
from minispec.engine.model.cache import PAGE_SIZE
from tests.tiny import byte_tokenizer, write_model

SHAPES = {"target": {"n_embd": 768, "n_layer": 12}, "draft": {"n_embd": 768, "n_layer": 6}}
"""GPT-2 and DistilGPT-2, but for the vocabulary, which is the tokenizer's."""

SHARE = 1.15
BASE_BYTES = 150e6
"""Python, NumPy, Numba and LLVM."""


def peak_bytes(arguments: list[str]) -> int:
    """Return the largest resident set of a ``minispec`` process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "minispec", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"minispec {' '.join(arguments)} ended with {process.returncode}")
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)  # bytes there, KiB elsewhere


def measure(folder: Path, dtype: str, shapes: dict[str, dict[str, int]]) -> tuple[int, int]:
    """Return the peak of a run, and the bytes of the packed weights and the caches."""
    needed = 0
    for name, shape in shapes.items():
        write_model(folder / name, n_positions=1024, scale=0.02, tokenizer=byte_tokenizer(), **shape)
        fields = {"model_type": "gpt2", "vocab_size": 259, "n_positions": 1024, "n_head": 2, **shape}
        needed += needed_bytes(GPT2Config.from_dict(fields), ITEM_BYTES[dtype], ITEM_BYTES["float32"])
    pair = ["--target", str(folder / "target"), "--draft", str(folder / "draft"), "--dtype", dtype]
    run = ["generate", "Once upon a time", *pair, "--max-tokens", "16"]
    peak_bytes(run)  # compiles what is not compiled yet
    return min(peak_bytes(run) for _ in range(3)), needed


def page_bytes(small: int, large: int) -> int:
    """Return the bytes of the pages that the larger of two budgets adds, of target and draft."""
    added = []
    for budget in (small, large):
        models = SharedModels(
            DEFAULT_TARGET, "panel", "float32", None, "float32", num_texts=1, kv_memory=budget, page_size=PAGE_SIZE
        )
        pools = [model.pool for model in (models.target, models.load(DEFAULT_DRAFT))]
        added.append(sum(pool.keys.nbytes + pool.values.nbytes for pool in pools if pool is not None))
    return added[1] - added[0]


def measure_batch(folder: Path) -> tuple[int, int]:
    """Return what more pages added to the peak of a batch that fills them, and their bytes."""
    requests, small, large = folder / "requests.jsonl", 64, 256  # budgets in MB; a full context takes 25
    rng = np.random.default_rng(0)
    prompts = (rng.integers(1, 8192, 60).tolist() for _ in range(12))  # 960 tokens each in the end, 283 MB in all
    requests.write_text("".join(json.dumps({"prompt": prompt}) + "\n" for prompt in prompts), encoding="utf-8")

    def peak(budget: int) -> int:
        results = folder / "results.jsonl"
        results.unlink(missing_ok=True)
        limits = ["--kv-memory", f"{budget}MB", "--concurrency", "12", "--max-tokens", "900", "--min-tokens", "900"]
        return peak_bytes(["batch", str(requests), "-o", str(results), *limits])

    peak(small)  # compiles what is not compiled yet
    few, many = (min(peak(budget) for _ in range(2)) for budget in (small, large))
    return many - few, page_bytes(small * 10**6, large * 10**6)


def main() -> None:
    """Print a line per format, and one for a batch."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--dtype", action="append", choices=list(ITEM_BYTES))
    dtypes = parser.parse_args().dtype or ["float32", "int8"]
    for dtype in dtypes:
        with tempfile.TemporaryDirectory() as folder:
            peak, needed = measure(Path(folder), dtype, SHAPES)
        allowed = SHARE * needed + BASE_BYTES
        print(
            f"{dtype:9} peak {peak / 1e6:6.0f} MB; weights and caches {needed / 1e6:6.0f} MB; {SHARE} of it and "
            f"{BASE_BYTES / 1e6:.0f} MB are {allowed / 1e6:6.0f} MB: {'enough' if peak <= allowed else 'EXCEEDED'}"
        )
    with tempfile.TemporaryDirectory() as folder:
        measured, planned = measure_batch(Path(folder))
    print(
        f"batch     pages planned {planned / 1e6:6.0f} MB; measured {measured / 1e6:6.0f} MB: "
        f"{measured / planned:.2f} of the plan"
    )


if __name__ == "__main__":
    main()
