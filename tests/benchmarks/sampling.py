"""What a step costs beside its forwards: ``python -m tests.benchmarks.sampling``.

Distributions and draws per row, beside the processors in NumPy; then the loop itself, on models whose forwards cost
nothing. Medians of interleaved runs, one thread.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

from minispec.engine.generation import Emitted, stream
from minispec.engine.loading import load_tokenizer
from minispec.engine.model.cache import KVCache
from minispec.engine.noise import Address, Coins
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.records import Draft
from minispec.engine.sampling import SamplingParams, distribution, processors
from minispec.engine.verifiers import VERIFIER_NAMES, get_verifier
from minispec.lab.timer import interleave

SPREADS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)
KINDS = {
    "temperature": SamplingParams(1.0, 0, 1.0, 0.0),
    "top-p 0.95": SamplingParams(1.0, 0, 0.95, 0.0),
    "top-k 50": SamplingParams(1.0, 50, 1.0, 0.0),
    "top-k 50, top-p 0.95, min-p 0.02": SamplingParams(1.0, 50, 0.95, 0.02),
}


def microseconds(call: Callable[[], object], repeats: int = 20) -> float:
    started = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - started) / repeats * 1e6


def medians(calls: dict[str, Callable[[], object]], rounds: int = 15) -> dict[str, float]:
    for call in calls.values():
        call()  # compile
    runs = {name: lambda call=call: microseconds(call) for name, call in calls.items()}
    return {name: statistics.median(times) for name, times in interleave(runs, rounds).items()}


def distributions(size: int) -> None:
    """Microseconds per row, by how peaked the row is."""
    print(f"\ndistribution(), V = {size}: µs per row, compiled (NumPy)")
    print(f"{'normal logits of deviation':34}" + "".join(f"{spread:>16g}" for spread in SPREADS))
    for name, params in KINDS.items():
        cells = []
        for spread in SPREADS:
            logits = np.random.default_rng(0).normal(0.0, spread, (1, size)).astype(np.float32)
            found = medians(
                {
                    "compiled": lambda logits=logits, params=params: distribution(logits, params),
                    "numpy": lambda logits=logits, params=params: processors.distribution(logits, params),
                }
            )
            cells.append(f"{found['compiled']:7.1f} ({found['numpy']:.0f})".rjust(16))
        print(f"{name:34}" + "".join(cells))


def numpys_race(probs: np.ndarray) -> int:
    """The race as NumPy would run it: noise for every token."""
    support = np.flatnonzero(probs)
    words = np.random.Philox(key=np.array([1, 1], np.uint64), counter=np.zeros(4, np.uint64)).random_raw(len(probs))
    uniforms = (words >> np.uint64(11)) * 2.0**-53
    return int(support[np.argmin(-np.log1p(-uniforms[support]) / probs[support])])


def draws(size: int) -> None:
    """Microseconds per draw, by the size of the support; and per coin."""
    noise, rng = PhiloxNoise(1), np.random.default_rng(0)
    print(f"\ncategorical(), V = {size}: µs per draw, compiled (NumPy)")
    for count in (1, 10, 100, 1000, size):
        probs = np.zeros(size)
        probs[rng.permutation(size)[:count]] = rng.dirichlet(np.ones(count))
        found = medians(
            {
                "compiled": lambda probs=probs: noise.categorical(probs, Address("draft", 7, 3)),
                "numpy": lambda probs=probs: numpys_race(probs),
            }
        )
        print(f"  support of {count:5d}: {found['compiled']:6.1f} ({found['numpy']:.0f})")
    coin = medians({"coin": lambda: noise.bernoulli(0.5, Address("accept", 7, 3))})
    print(f"bernoulli(): {coin['coin']:.1f} µs")


def rules(size: int, gamma: int = 5) -> None:
    """Microseconds per verdict on a draft of gamma tokens: nuclei of a few hundred tokens, draft and target alike."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0.0, 4.0, (gamma + 1, size)).astype(np.float32)
    near = logits + rng.normal(0.0, 0.3, logits.shape).astype(np.float32)
    target_probs, draft_probs = (distribution(rows, SamplingParams(1.0)) for rows in (logits, near))
    draft = Draft(tuple(int(row.argmax()) for row in draft_probs[:gamma]), draft_probs[:gamma])
    coins = Coins(PhiloxNoise(1), position=9, step=2)
    calls = {name: lambda name=name: get_verifier(name).verify(draft, target_probs, coins) for name in VERIFIER_NAMES}
    print(f"\nverify, gamma {gamma}, V = {size}: µs per step")
    for name, cost in medians(calls).items():
        print(f"  {name:10} {cost:6.1f}")


class FreeModel:
    """A model whose forwards cost nothing: the same rows over and over."""

    batch_invariant = True
    n_positions = 4096
    eos_token_id: frozenset[int] = frozenset()

    def __init__(self, size: int, seed: int) -> None:
        self.name, self.vocab_size = f"free-{seed}", size
        self.tokenizer = load_tokenizer("draft-1.6m")
        rows = np.random.default_rng(0).normal(0.0, 4.0, (16, size))
        self._rows = (rows + np.random.default_rng(seed).normal(0.0, 0.5, (16, size))).astype(np.float32)

    def new_cache(self, capacity: int | None = None) -> KVCache:
        return KVCache(1, 1, 1, capacity or self.n_positions)

    def forward(self, tokens, cache, num_logits=None, *, positions=None, visible=None):
        count = len(tokens) if num_logits is None else num_logits
        start = cache.lengths[0]
        cache.lengths = [start + len(tokens)] * len(cache.lengths)
        return self._rows[np.arange(start + len(tokens) - count, start + len(tokens)) % 16]


def loop(size: int, gamma: int = 5, tokens: int = 400) -> None:
    """Microseconds per step beside the forwards, and what of it is neither a distribution nor a draw."""
    target, draft = FreeModel(size, 1), FreeModel(size, 2)
    spent = {"distribution": 0.0, "noise": 0.0}

    class TimedNoise(PhiloxNoise):
        def categorical(self, probs, at):
            started = time.perf_counter()
            token = super().categorical(probs, at)
            spent["noise"] += time.perf_counter() - started
            return token

    from minispec.engine.sampling import sampler

    def timed(logits, params):
        started = time.perf_counter()
        probs = distribution(logits, params)
        spent["distribution"] += time.perf_counter() - started
        return probs

    figures = []
    sampler.distribution = timed
    for _ in range(7):
        run = stream(
            "Once upon a time", target=target, draft=draft, gamma=gamma, max_tokens=tokens, noise=TimedNoise(1),
            temperature=1.0,
        )  # fmt: skip
        next(event for event in run if isinstance(event, Emitted))
        spent.update(distribution=0.0, noise=0.0)  # the first token belongs to the prompt, not to a step
        metrics = run.run().metrics
        per_step = [metrics.decode_s, spent["distribution"], spent["noise"]]
        figures.append([seconds / metrics.num_steps * 1e6 for seconds in per_step])
    sampler.distribution = distribution
    whole, distributing, drawing = (statistics.median(column) for column in zip(*figures, strict=True))
    print(f"\na step with gamma {gamma} beside its forwards, V = {size}: {whole:.0f} µs, of which")
    rest = whole - distributing - drawing
    print(f"  distributions {distributing:.0f}, draws {drawing:.0f}, everything else {rest:.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vocabulary", type=int, default=8192)
    size = parser.parse_args().vocabulary
    distributions(size)
    draws(size)
    rules(size)
    loop(8192)


if __name__ == "__main__":
    main()
