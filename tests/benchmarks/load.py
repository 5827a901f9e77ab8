"""A batch at its default, ``gamma=load``, beside plain decoding: ``python -m tests.benchmarks.load``.

The same requests are decoded with the default draft and without one, in turns, at several sizes of the batch. A line
per size: tokens per second of both (medians), the ratio of each round, and the tokens that were drafted. Where none is
drafted, what the ratio lacks of 1 is the cost of deciding so; processor seconds tell that from what else runs.
"""

from __future__ import annotations

import argparse
import statistics
import time
from functools import partial
from typing import NamedTuple

from minispec.engine.backends.threads import set_num_threads
from minispec.engine.batching import Engine
from minispec.engine.loading import load_model
from minispec.engine.loading.bundled import DEFAULT_DRAFT, DEFAULT_TARGET
from minispec.engine.model import GPT2
from minispec.lab.prompts import bundled_prompts
from minispec.lab.timer import interleave, ratios


class Run(NamedTuple):
    """A batch decoded to its end."""

    tokens_per_s: float
    tokens_per_cpu_s: float
    num_drafted: int


def decode(target: GPT2, draft: GPT2 | None, size: int, num_tokens: int) -> Run:
    """Decode ``size`` requests together with a new engine, which knows no costs yet."""
    engine, prompts = Engine(target, max_running=size), [prompt.text for prompt in bundled_prompts()]
    for seed in range(size):
        engine.add(prompts[seed % len(prompts)], draft=draft, seed=seed, max_tokens=num_tokens, min_tokens=num_tokens)
    began, began_cpu = time.perf_counter(), time.process_time()
    made = engine.run()
    seconds, cpu_s = time.perf_counter() - began, time.process_time() - began_cpu
    count = sum(each.metrics.num_tokens for each in made)
    return Run(count / seconds, count / cpu_s, sum(each.metrics.num_draft_tokens for each in made))


def main() -> None:
    """Print a line for each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1,2,4,8,16,32,64")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--threads", type=int)
    asked = parser.parse_args()
    if asked.threads:
        set_num_threads(asked.threads)
    target, draft = load_model(DEFAULT_TARGET), load_model(DEFAULT_DRAFT)
    decode(target, draft, 1, 8), decode(target, None, 1, 8)  # compiles
    print("requests | load, tokens/s | plain, tokens/s | load / plain, by round | in processor seconds | drafted")
    for size in map(int, asked.sizes.split(",")):
        runs = interleave(
            {
                "load": partial(decode, target, draft, size, asked.tokens),
                "plain": partial(decode, target, None, size, asked.tokens),
            },
            asked.rounds,
        )
        load, plain = (list(zip(*runs[name], strict=True)) for name in ("load", "plain"))
        cells = [f"{size}", *(f"{statistics.median(each[0]):.0f}" for each in (load, plain))]
        cells += [" ".join(f"{each:.2f}" for each in ratios(load[i], plain[i])) for i in (0, 1)]
        print(" | ".join([*cells, " ".join(map(str, load[2]))]), flush=True)


if __name__ == "__main__":
    main()
