"""Keys and values in float16 beside float32: ``python -m tests.benchmarks.kv [--shape gpt2] [--context 256]``.

First a forward of a token for each of some texts, the formats in turns; then, on the bundled target, how far the logits
move and how often the most likely token is another.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from functools import partial

import numpy as np

from minispec.engine.backends import get_backend
from minispec.engine.backends.formats import KV_DTYPES
from minispec.engine.loading import load_model
from minispec.engine.loading.bundled import DEFAULT_TARGET
from minispec.engine.model import GPT2
from minispec.engine.model.paged import PagedCache
from minispec.engine.model.together import JoinedCaches, join
from minispec.lab.roofline.forwards import random_model
from minispec.lab.roofline.shapes import get_shape, to_config
from minispec.lab.timer import interleave

TEXTS = (1, 4, 8, 16, 32)
PROMPT = "Once upon a time there was a small village by the sea"


def fill(model: GPT2, num_texts: int, context: int) -> list[PagedCache]:
    """Return the caches of some texts of random tokens, in pages of one memory."""
    generator = np.random.default_rng(0)
    paged = model.with_pages(num_texts * (context // 16 + 2))
    caches = []
    for _ in range(num_texts):
        session = paged.session()
        session.prefill(generator.integers(0, model.vocab_size, context).tolist())
        assert isinstance(session.cache, PagedCache)
        caches.append(session.cache)
    return caches


def seconds(model: GPT2, caches: list[PagedCache], context: int) -> float:
    """Time a forward of one token for each text; the texts stay as long as they were."""
    feeds = [cache.feed([0]) for cache in caches]
    started = time.perf_counter()
    model.run(join(feeds), JoinedCaches(caches, feeds))
    taken = time.perf_counter() - started
    for cache in caches:
        cache.rollback(context)
    return taken


def print_accuracy(exact: GPT2, name: str, model: GPT2, num_tokens: int) -> None:
    """Feed both models the tokens that the exact one chooses greedily, and compare the logits."""
    tokens = list(exact.tokenizer.encode(PROMPT)) if exact.tokenizer else [0]
    first = len(tokens) - 1
    session = exact.session()
    session.prefill(tokens[:-1])
    while len(tokens) < first + num_tokens:
        tokens.append(int(np.argmax(session.score(tokens[-1:])[-1])))
    expected = exact.logits(tokens)[first:]
    print(f"{exact.name}, {num_tokens} greedy tokens, against float32")
    print(f"{'':16}{'error / largest logit':>24}{'same token':>12}")
    found = model.logits(tokens)[first:]
    error = np.abs(found - expected).max() / np.abs(expected).max()
    print(f"{name:16}{error:24.2e}{np.mean(found.argmax(-1) == expected.argmax(-1)):12.3f}")


def main() -> None:
    """Read arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", help="a GPT-2 size with random weights; by default the bundled target")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--context", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=21)
    given = parser.parse_args()
    models = {}
    for kv_dtype in KV_DTYPES:
        if given.shape is None:
            models[kv_dtype] = load_model(DEFAULT_TARGET, dtype=given.dtype, kv_dtype=kv_dtype)
        else:
            config, backend = to_config(get_shape(given.shape)), get_backend("panel")
            models[kv_dtype] = random_model(config, backend, given.dtype, given.shape, kv_dtype)
    print(f"{models['float32'].name}, weights in {given.dtype}: a token for each text behind {given.context} others")
    print(f"{'texts':>8}{'float32':>12}{'float16':>12}{'times faster':>14}  (half of the rounds)")
    for count in TEXTS:
        caches = {name: fill(model, count, given.context) for name, model in models.items()}
        runs = {name: partial(seconds, model, caches[name], given.context) for name, model in models.items()}
        for run in itertools.chain.from_iterable([runs.values()] * 5):
            run()
        found = interleave(runs, given.rounds)
        ratios = [whole / half for whole, half in zip(found["float32"], found["float16"], strict=True)]
        times = "".join(f"{statistics.median(found[name]) * 1e3:9.2f} ms" for name in KV_DTYPES)
        low, middle, high = statistics.quantiles(ratios)
        print(f"{count:8}{times}{middle:14.2f}  ({low:.2f} to {high:.2f})")
    if given.shape is None:
        print_accuracy(models["float32"], "kv float16", models["float16"], 512)


if __name__ == "__main__":
    main()
