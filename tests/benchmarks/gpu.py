"""Decoding on a card: ``python -m tests.benchmarks.gpu [--shape xl] [--dtype float16] [--rounds 7] [--json FILE]``.

Random weights of a GPT-2 shape, one sequence. All candidates take turns in one process, medians are reported, and the
read bandwidth is measured among them, over as many bytes as a token reads. A step ends when its logits are on the host,
as decoding needs them; "graph alone" is what the card does in it. A second table has each kind of launch by itself: as
many as there are layers in one graph, each with a matrix of its own.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from minispec.engine.backends import Backend
from minispec.engine.backends.cuda import CupyBackend, CupyBlasBackend, describe_gpu, open_cupy
from minispec.engine.backends.cuda.recording import Recording
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
    """Yield our candidates: the fast backend with and without graphs, and the readable one."""
    for rows in ROWS:
        session, seconds = steps(model, context, rows, repeats)
        yield f"cupy, {rows} rows", seconds
        recordings = [found for found in session.cache.recordings.values() if found is not None]
        graph = next(found.graph for found in recordings if found.num_tokens == rows)
        yield f"cupy, {rows} rows, graph alone", graph_seconds(cupy, model.backend, graph, repeats, session)
    yield (
        "cupy without graphs, 1 rows",
        steps(dataclasses.replace(model, backend=CupyBackend(cupy, record=False)), context, 1, repeats)[1],
    )
    reference = random_model(model.config, CupyBlasBackend(cupy), model.dtype)
    yield "cupy-blas, 1 rows", steps(reference, context, 1, max(1, repeats // 10))[1]


def launches(cupy: Any, model: GPT2, context: int, repeats: int) -> Iterator[tuple[str, int, Callable[[], float]]]:
    """Yield each kind of launch of a step of one row: name, bytes that it reads, a function that measures it."""
    config, backend, item = model.config, model.backend, ITEM_BYTES[model.dtype]
    session, _ = steps(model, context, 1, 1)
    cache, feed = session.cache, session.cache.feed([0])
    width, inner = config.n_embd, config.n_inner
    x, hidden = (backend.place(np.ones((1, size), np.float32)) for size in (width, inner))
    queries = backend.place(np.ones((1, config.n_head, width // config.n_head), np.float32))
    blocks, activation, scale = model.weights.h, config.activation_function, config.attention_scale
    of_a_layer: dict[str, tuple[int, Callable[[Any, Any, int, Any], Any]]] = {
        "queries, keys, values": (
            3 * width * width,
            lambda cache, feed, i, block: backend.project(x, block.attn.c_attn, block.ln_1, cache, i, feed),
        ),
        "attention": (
            2 * context * width,
            lambda cache, feed, i, block: backend.attention(
                queries, cache.keys[i], cache.values[i], feed.pages, feed.ends, feed.visible, scale(i)
            ),
        ),
        "projection": (width * width, lambda cache, feed, i, block: backend.linear(x, block.attn.c_proj, residual=x)),
        "up": (
            width * inner,
            lambda cache, feed, i, block: backend.linear(x, block.mlp.c_fc, norm=block.ln_2, activation=activation),
        ),
        "down": (inner * width, lambda cache, feed, i, block: backend.linear(hidden, block.mlp.c_proj, residual=x)),
    }

    def record(compute: Callable[[Any, Any], Any]) -> Callable[[], float]:
        recording = Recording(cupy, backend.stream, compute, cache, feed)
        recording.replay(feed)
        return lambda: on_the_card(cupy, backend.stream, lambda: recording.graph.launch(backend.stream), repeats)

    for name, (numbers, call) in of_a_layer.items():
        seconds = record(lambda cache, feed, call=call: [call(cache, feed, i, block) for i, block in enumerate(blocks)])
        yield name, numbers * item, lambda seconds=seconds: seconds() / len(blocks)
    head = record(lambda cache, feed: backend.linear(x, model.weights.lm_head, norm=model.weights.ln_f))
    yield "head", config.vocab_size * width * item, head


def graph_seconds(cupy: Any, backend: CupyBackend, graph: Any, repeats: int, keep: Session) -> Callable[[], float]:
    """Return a function that measures a graph; ``keep`` keeps its cache in memory."""

    def seconds() -> float:
        assert keep.cache.capacity
        return on_the_card(cupy, backend.stream, lambda: graph.launch(backend.stream), repeats)

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
        one_row = medians["cupy, 1 rows, graph alone" if name.endswith("alone") else "cupy, 1 rows"]
        lines.append(f"| {name} | {seconds * 1e3:.3f} | {floor / seconds:.2f} | {seconds / one_row:.2f} |")
    return "\n".join(lines)


def report_launches(medians: dict[str, float], launch_bytes: dict[str, int], num_bytes: int) -> str:
    """Return a table: microseconds of each kind of launch, and its share of the read bandwidth."""
    lines = ["| | us | MB | share of read bandwidth |", "|---|---|---|---|"]
    for name, size in launch_bytes.items():
        floor = medians["read"] * size / num_bytes
        lines.append(f"| {name} | {medians[name] * 1e6:.1f} | {size / 1e6:.1f} | {floor / medians[name]:.2f} |")
    return "\n".join(lines)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__)
    made.add_argument("--shape", choices=SHAPES, default="xl")
    made.add_argument("--dtype", choices=CupyBackend.dtypes, default="float16")
    made.add_argument("--context", type=int, default=512, help="tokens in the cache")
    made.add_argument("--rounds", type=int, default=7)
    made.add_argument("--repeats", type=int, default=50, help="steps per round")
    made.add_argument("--no-transformers", action="store_true")
    made.add_argument("--json", type=Path, help="write all figures here")
    return made


def main(
    arguments: list[str] | None = None, cupy: Any = None, probe: Callable[..., Callable[[], float]] = read_probe
) -> None:
    """Measure and print; ``cupy`` and ``probe`` may be stand-ins."""
    asked = parser().parse_args(arguments)
    try:
        cupy = cupy or open_cupy()
    except InputError as error:
        sys.exit(f"{error}")
    config = GPT2Config.from_dict(SHAPES[asked.shape])
    if not 0 < asked.context <= config.n_positions - max(ROWS):
        sys.exit(f"--context is {asked.context}; {asked.shape} has room for 1 to {config.n_positions - max(ROWS)}")
    num_bytes = bytes_per_token(config, asked.dtype, asked.context)
    candidates = {"read": probe(cupy, num_bytes, asked.repeats)}
    model = random_model(config, CupyBackend(cupy), asked.dtype)
    candidates |= dict(ours(cupy, model, asked.context, asked.repeats))
    launch_bytes = {}
    for name, size, seconds in launches(cupy, model, asked.context, asked.repeats):
        candidates[f"launch of {name}"], launch_bytes[f"launch of {name}"] = seconds, size
    if not asked.no_transformers:
        try:
            candidates |= dict(transformers(config, asked.dtype, asked.context, asked.repeats))
        except Exception as error:  # a peer that does not run must not cost the other figures
            print(f"transformers left out: {type(error).__name__}: {error}", file=sys.stderr)
    figures = interleave(candidates, asked.rounds)
    medians = {name: statistics.median(values) for name, values in figures.items()}
    print(
        f"{describe_gpu()}; GPT-2 {asked.shape} shape, {asked.dtype}, {asked.context} tokens in the cache, "
        f"medians of {asked.rounds}\n"
    )
    print(report({name: value for name, value in medians.items() if name not in launch_bytes}, num_bytes))
    print("\n" + report_launches(medians, launch_bytes, num_bytes))
    if asked.json:
        asked.json.write_text(json.dumps({"bytes": num_bytes, "seconds": figures}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
