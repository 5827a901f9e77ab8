"""Decoding on a card: ``python -m tests.benchmarks.gpu [--shape xl] [--dtype float16] [--rounds 7] [--json FILE]``.

Random weights of a GPT-2 shape, one sequence. All candidates take turns in one process, medians are reported, and the
read bandwidth is measured among them, over as many bytes as a token reads. A step ends when its logits are on the host,
as decoding needs them; "on the card" is the launch alone. ``--lease`` is another order for a card that is lent for
minutes: see :mod:`tests.benchmarks.lease`. ``--stand-in`` rehearses either where there is no card.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from minispec.engine.backends import Backend
from minispec.engine.backends.cuda import CupyBackend, CupyBlasBackend, describe_gpu, open_cupy
from minispec.engine.backends.formats import ITEM_BYTES
from minispec.engine.model import GPT2, GPT2Config
from minispec.engine.model.session import Session
from minispec.engine.model.weights import build_weights, expected_shapes
from minispec.errors import InputError
from minispec.lab.timer import interleave

SHAPES: dict[str, dict[str, int]] = {
    "tiny": {"n_embd": 32, "n_head": 2, "n_layer": 1, "vocab_size": 97, "n_positions": 64},
    "gpt2": {"n_embd": 768, "n_head": 12, "n_layer": 12, "vocab_size": 50257, "n_positions": 1024},
    "large": {"n_embd": 1280, "n_head": 20, "n_layer": 36, "vocab_size": 50257, "n_positions": 1024},
    "xl": {"n_embd": 1600, "n_head": 25, "n_layer": 48, "vocab_size": 50257, "n_positions": 1024},
}
ROWS = (1, 2, 3, 5, 8)

READ = """
extern "C" __global__ void read(const uint4* data, unsigned long long count, unsigned* out) {
  unsigned all = 0;
  for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const uint4 v = data[i];
    all ^= v.x ^ v.y ^ v.z ^ v.w;
  }
  if (all == 0x9e3779b9u) *out = all;  // so that nothing is left out as unused
}
"""


def random_model(config: GPT2Config, backend: Backend, dtype: str) -> GPT2:
    """Return a model of N(0, 0.02) weights, the same for every backend: a million numbers, again and again."""
    drawn = np.random.default_rng(0).standard_normal(1_000_003, dtype=np.float32) * np.float32(0.02)
    shapes = dict(expected_shapes(config))

    def read(name: str) -> Any:
        return np.resize(drawn, shapes[name])

    return GPT2("random", config, build_weights(read, config, backend, dtype), backend, dtype=dtype)


def bytes_per_token(config: GPT2Config, dtype: str, context: int) -> int:
    """Return what one token must read: every matrix, the head (or the tied embedding) once, and the cache."""
    kept_apart = ("wpe.weight", *(("wte.weight",) if not config.tie_word_embeddings else ()))
    numbers = sum(
        int(np.prod(shape)) for name, shape in expected_shapes(config) if len(shape) == 2 and name not in kept_apart
    )
    return (numbers + 2 * config.n_layer * context * config.n_embd) * ITEM_BYTES[dtype]


def read_probe(cupy: Any, num_bytes: int, repeats: int) -> Callable[[], float]:
    """Return a function that measures the seconds of one pass over ``num_bytes``."""
    kernel = cupy.RawKernel(READ, "read")
    data, out = cupy.arange(num_bytes // 4, dtype=np.uint32), cupy.zeros(1, np.uint32)
    blocks = 16 * cupy.cuda.Device().attributes["MultiProcessorCount"]

    def once() -> None:
        kernel((blocks,), (256,), (data, np.uint64(num_bytes // 16), out))

    def seconds() -> float:
        return on_the_card(cupy, cupy.cuda.Stream.null, once, repeats)

    once()
    return seconds


def on_the_card(cupy: Any, stream: Any, launch: Callable[[], None], repeats: int) -> float:
    """Return the card's seconds per launch, many launched one behind the other."""
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    with stream:
        begin.record(stream)
        for _ in range(repeats):
            launch()
        end.record(stream)
    end.synchronize()
    return float(cupy.cuda.get_elapsed_time(begin, end)) / 1e3 / repeats


def steps(model: GPT2, context: int, rows: int, repeats: int) -> tuple[Session, Callable[[], float]]:
    """Return a prefilled session, and a function that measures the seconds of a step of ``rows`` rows to the host."""
    session = Session(model)
    tokens = np.random.default_rng(1).integers(0, model.vocab_size, context + rows).tolist()
    session.prefill(tokens[:context])

    def step() -> None:
        session.score(tokens[context:])
        session.rollback(context)

    def seconds() -> float:
        started = time.perf_counter()
        for _ in range(repeats):
            step()
        return (time.perf_counter() - started) / repeats

    for _ in range(3):  # launched, recorded, replayed
        step()
    return session, seconds


def ours(cupy: Any, model: GPT2, context: int, repeats: int) -> Iterator[tuple[str, Callable[[], float]]]:
    """Yield our candidates: the fast backend, end to end and on the card alone, and the readable one."""
    for rows in ROWS:
        session, seconds = steps(model, context, rows, repeats)
        yield f"cupy, {rows} rows", seconds
        yield f"cupy, {rows} rows, on the card", launch_seconds(cupy, model.backend, session, rows, repeats)
    reference = random_model(model.config, CupyBlasBackend(cupy), model.dtype)
    yield "cupy-blas, 1 rows", steps(reference, context, 1, max(1, repeats // 10))[1]


def launch_seconds(cupy: Any, backend: Any, session: Session, rows: int, repeats: int) -> Callable[[], float]:
    """Return a function that measures the launch of a forward of a session's cache."""
    launch = next(found.launch for found in session.cache.recordings.values() if len(found.buffer.feed.tokens) == rows)

    def seconds() -> float:
        assert session.cache.capacity  # its memory is kept for as long as this function is
        return on_the_card(cupy, backend.stream, launch, repeats)

    return seconds


def transformers(
    config: GPT2Config, dtype: str, context: int, repeats: int
) -> Iterator[tuple[str, Callable[[], float]]]:
    """Yield Hugging Face transformers on the same shape: eager, and compiled over a static cache.

    Each measures greedy ``generate`` and takes off a prefill, per token.
    """
    import torch
    import transformers as hf

    fields = {name: getattr(config, name) for name in ("n_embd", "n_head", "n_layer", "vocab_size", "n_positions")}
    with torch.device("cuda"):
        model = hf.GPT2LMHeadModel(hf.GPT2Config(**fields, bos_token_id=0, eos_token_id=None))
        ids = torch.randint(0, config.vocab_size, (1, context))
    model = model.to(getattr(torch, dtype)).eval()
    new = max(repeats, 2)

    def timed(call: Callable[[], Any]) -> float:
        torch.cuda.synchronize()
        started = time.perf_counter()
        with torch.inference_mode():
            call()
        torch.cuda.synchronize()
        return time.perf_counter() - started

    def per_token(**options: Any) -> float:
        whole = timed(
            lambda: model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                do_sample=False,
                max_new_tokens=new,
                min_new_tokens=new,
                pad_token_id=0,
                **options,
            )
        )
        return (whole - timed(lambda: model(ids, use_cache=True))) / (new - 1)

    for name, options in (
        ("transformers, eager", {}),
        ("transformers, static cache, compiled", {"cache_implementation": "static"}),
    ):
        for _ in range(3):
            per_token(**options)  # compiles
        yield name, lambda options=options: per_token(**options)


def report(medians: dict[str, float], num_bytes: int) -> str:
    """Return a table: milliseconds, share of the read bandwidth, and relation to one row."""
    floor = medians["read"]
    lines = [
        f"Read bandwidth over the {num_bytes / 1e6:.0f} MB of a token: {num_bytes / floor / 1e9:.0f} GB/s, "
        f"{floor * 1e3:.3f} ms.",
        "",
        "| | ms | share of read bandwidth | / one row |",
        "|---|---|---|---|",
    ]
    for name, seconds in medians.items():
        if name == "read":
            continue
        one_row = medians["cupy, 1 rows, on the card" if name.endswith("card") else "cupy, 1 rows"]
        lines.append(f"| {name} | {seconds * 1e3:.3f} | {floor / seconds:.2f} | {seconds / one_row:.2f} |")
    return "\n".join(lines)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__)
    made.add_argument("--shape", choices=SHAPES, default="xl")
    made.add_argument("--dtype", choices=CupyBackend.dtypes, default="float16")
    made.add_argument("--context", type=int, default=512, help="tokens in the cache")
    made.add_argument("--rounds", type=int, default=7)
    made.add_argument("--repeats", type=int, default=50, help="steps per round")
    made.add_argument("--no-transformers", action="store_true")
    made.add_argument("--lease", action="store_true", help="correctness, ring sizes, XL and 124M, then pytest -m gpu")
    made.add_argument("--seconds", type=float, default=330.0, help="of a lease, before pytest -m gpu")
    made.add_argument("--tests", nargs="*", default=[], help="of a lease: files for pytest -m gpu, all if left out")
    made.add_argument(
        "--stand-in",
        action="store_true",
        help="rehearse on the emulated card, with a tiny model: no figure means anything",
    )
    made.add_argument("--json", type=Path, help="write all figures here")
    return made


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    asked = parser().parse_args(arguments)
    if asked.stand_in:
        asked.shape, asked.context, asked.rounds, asked.repeats = "tiny", 8, 1, 1
    room = SHAPES[asked.shape]["n_positions"] - max(ROWS)
    if not 0 < asked.context <= room:
        sys.exit(f"--context is {asked.context}; {asked.shape} has room for 1 to {room}")
    with contextlib.ExitStack() as stack:
        try:
            cupy = stack.enter_context(stand_in()) if asked.stand_in else open_cupy()
        except InputError as error:
            sys.exit(f"{error}")
        if asked.lease:
            from tests.benchmarks import lease

            lease.Lease(cupy, asked).spend()
        else:
            compare(cupy, asked)
            if asked.stand_in:
                print(f"host: {host_seconds(cupy) * 1e6:.0f} us of Python a token, the kernel left out")


def host_seconds(card: Any, tokens: int = 300) -> float:
    """Return the median seconds that a token of a model of one layer takes on the host of a stand-in, without a kernel.

    The stand-in's own Python is among them; what CuPy itself takes is not.
    """
    model = random_model(GPT2Config.from_dict(SHAPES["tiny"]), CupyBackend(card), "float32")
    cache, took = model.new_cache(), []
    model.forward([1, 2, 3], cache)
    model.forward([1], cache)
    card._launch = lambda *launch: None
    for _ in range(tokens):
        start = time.perf_counter()
        model.forward([5], cache)
        cache.rollback(4)
        took.append(time.perf_counter() - start)
    return statistics.median(took)


@contextlib.contextmanager
def stand_in() -> Iterator[Any]:
    """Yield what the tests use for CuPy, with the shared memory of a Hopper card."""
    from tests.engine.backends import fake_cupy

    with tempfile.TemporaryDirectory() as folder, fake_cupy.cupyx():
        yield fake_cupy.FakeCupy(fake_cupy.builder(Path(folder)), limit=232448)


def describe(cupy: Any) -> str:
    """Return one line about the card."""
    return describe_gpu() if cupy.__name__ == "cupy" else f"CuPy {cupy.__version__}: no figure means anything"


def compare(cupy: Any, asked: argparse.Namespace) -> None:
    """Let all candidates take turns."""
    config = GPT2Config.from_dict(SHAPES[asked.shape])
    num_bytes = bytes_per_token(config, asked.dtype, asked.context)
    candidates = {"read": read_probe(cupy, num_bytes, asked.repeats)}
    model = random_model(config, CupyBackend(cupy), asked.dtype)
    candidates |= dict(ours(cupy, model, asked.context, asked.repeats))
    if not asked.no_transformers:
        try:
            candidates |= dict(transformers(config, asked.dtype, asked.context, asked.repeats))
        except Exception as error:  # a peer that does not run must not cost the other figures
            print(f"transformers left out: {type(error).__name__}: {error}", file=sys.stderr)
    figures = interleave(candidates, asked.rounds)
    medians = {name: statistics.median(values) for name, values in figures.items()}
    print(
        f"{describe(cupy)}; GPT-2 {asked.shape} shape, {asked.dtype}, {asked.context} tokens in the cache, "
        f"medians of {asked.rounds}\n"
    )
    print(report(medians, num_bytes))
    if asked.json:
        asked.json.write_text(json.dumps({"bytes": num_bytes, "seconds": figures}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
