"""Measure: ``python -m tests.benchmarks.peers [--shape bundled ...] [--rounds 7] [--json FILE]``."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from minispec.lab.prompts import bundled_prompts
from minispec.lab.timer import interleave
from tests.benchmarks.peers.shapes import SHAPES, num_bytes_per_token, num_multiply_adds, prepare

ROOT = Path(__file__).resolve().parents[3]
LIMITS = {"limits 4": 4.0, "limits 2": 2.0, "limits 1": 1.0}
OURS = ("minispec float32", "minispec float16", "minispec int8", "minispec numpy")
PEERS = ("llama.cpp f32", "llama.cpp f16", "llama.cpp q8_0", "CTranslate2 float32", "transformers float32")
CANNOT_VERIFY = ("CTranslate2 float32",)
ROWS = (2, 3, 4, 5, 6, 7, 8, 9)
DOMAINS = {
    domain: [prompt.text for prompt in bundled_prompts() if prompt.domain == domain][:3]
    for domain in ("stories", "code", "questions")
}
SETTLE_S = 0.1
"""Before the turn of another: the threads of some libraries (OpenBLAS) go on spinning for a while after their own."""
GAMMAS = (1, 2, 3, 4, 5, 7)
Ask = Callable[..., dict[str, Any]]


@contextmanager
def contender(name: str, folder: Path, turns: list[str]) -> Iterator[Ask]:
    """Start a contender's process and yield what asks it; ``turns`` remembers whose turn it was last."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.benchmarks.peers.worker", name, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def answer() -> dict[str, Any]:
        line = process.stdout.readline()  # type: ignore[union-attr]
        if not line:
            raise SystemExit(f"{name} stopped; see above")
        found: dict[str, Any] = json.loads(line)
        return found

    def ask(op: str, **options: Any) -> dict[str, Any]:
        if turns[-1:] != [name]:
            time.sleep(SETTLE_S)
            turns[:] = [name]
        process.stdin.write(json.dumps({"op": op, **options}) + "\n")  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]
        return answer()

    answer()
    try:
        yield ask
    finally:
        process.stdin.close()
        process.wait(timeout=60)


def measure(shape: str, rounds: int, folder: Path) -> dict[str, Any]:
    """Let every contender take its turns on one shape, and collect medians, spreads and outputs."""
    with ExitStack() as stack:
        turns: list[str] = []
        asks = {name: stack.enter_context(contender(name, folder, turns)) for name in (*LIMITS, *OURS, *PEERS)}
        few = shape == "124M"
        runs: dict[str, Callable[[], float]] = {}
        for name in LIMITS:
            runs[f"{name}: read"] = partial(_seconds, asks[name], "bandwidth", repeats=5 if few else 15)
        runs["sgemm"] = lambda: float(asks["limits 4"]("sgemm")["flops_per_s"])
        for name in (*OURS, *PEERS):
            runs[f"{name}: decode"] = partial(_seconds, asks[name], "decode", count=8 if few else 32)
            if name not in CANNOT_VERIFY:
                for rows in ROWS:
                    runs[f"{name}: verify {rows}"] = partial(
                        _seconds, asks[name], "verify", rows=rows, repeats=3 if few else 7
                    )
        for run in runs.values():
            run()  # once for nothing: caches, thread pools
        figures = interleave(runs, rounds)
        result = {
            "shape": shape,
            "num_bytes_float32": num_bytes_per_token(folder, 4),
            "num_multiply_adds": num_multiply_adds(folder),
            "figures": {name: _spread(values) for name, values in figures.items()},
            "shares": _shares(figures, num_multiply_adds(folder)),
            "accuracy": _accuracy(asks, folder),
            "same_greedy_tokens": _same_tokens(asks),
        }
        if shape == "bundled":
            result["speculation"] = _speculation(asks, rounds)
        return result


def _seconds(ask: Ask, op: str, **options: Any) -> float:
    return float(ask(op, **options)["seconds"])


def _spread(values: list[float]) -> dict[str, Any]:
    return {"median": statistics.median(values), "low": min(values), "high": max(values), "all": values}


def _ratio(above: list[float], below: list[float]) -> float:
    """Median over rounds of a ratio: both sides of each were measured within the same round."""
    return statistics.median(a / b for a, b in zip(above, below, strict=True))


def _shares(figures: Mapping[str, list[float]], num_multiply_adds: int) -> dict[str, float]:
    """Relate every figure to what stood beside it in the same round."""
    shares = {}
    for dtype, limit in (("float32", "limits 4"), ("float16", "limits 2"), ("int8", "limits 1")):
        read = figures[f"{limit}: read"]
        shares[f"{dtype} decode, share of the read bandwidth"] = _ratio(read, figures[f"minispec {dtype}: decode"])
        for rows in ROWS:
            flops = 2 * rows * num_multiply_adds
            floor = [max(r, flops / peak) for r, peak in zip(read, figures["sgemm"], strict=True)]
            shares[f"{dtype} verify {rows} / floor"] = _ratio(figures[f"minispec {dtype}: verify {rows}"], floor)
    pairs = [("float32", peer) for peer in (*PEERS, "minispec numpy")] + [
        ("float16", "llama.cpp f16"),
        ("int8", "llama.cpp q8_0"),
    ]
    for dtype, peer in pairs:
        ours = f"minispec {dtype}"
        shares[f"{ours} decode, times faster than {peer}"] = _ratio(
            figures[f"{peer}: decode"], figures[f"{ours}: decode"]
        )
        if peer not in CANNOT_VERIFY:
            shares[f"{ours} verify 6, times faster than {peer}"] = _ratio(
                figures[f"{peer}: verify 6"], figures[f"{ours}: verify 6"]
            )
    return shares


def _accuracy(asks: Mapping[str, Ask], folder: Path) -> dict[str, dict[str, float]]:
    """Compare logits over the context with our float32's: largest error relative to the largest logit, agreement."""
    logits = {}
    for name in (*OURS, *PEERS):
        if name not in CANNOT_VERIFY:
            path = folder / "logits.npy"
            asks[name]("score", path=str(path))
            logits[name] = np.load(path)
    reference = logits["minispec float32"]
    scale = np.abs(reference).max()
    return {
        name: {
            "largest relative error": float(np.abs(found - reference).max() / scale),
            "same largest logit": float(np.mean(found.argmax(-1) == reference.argmax(-1))),
        }
        for name, found in logits.items()
    }


def _same_tokens(asks: Mapping[str, Ask]) -> dict[str, bool]:
    """Whether each contender decodes the same 32 tokens as our float32: like for like."""
    ids = {name: asks[name]("decode", count=32)["ids"] for name in (*OURS, *PEERS)}
    return {name: found == ids["minispec float32"] for name, found in ids.items()}


def _speculation(asks: Mapping[str, Ask], rounds: int, count: int = 128) -> dict[str, Any]:
    """Time speculative generation at several gammas beside plain decoding and the fastest peer's decoding."""
    ask = asks["minispec float32"]
    table: dict[str, Any] = {}
    for temperature in (0.0, 1.0):
        for domain, prompts in DOMAINS.items():
            options = {"prompts": prompts, "temperature": temperature, "count": count}
            runs: dict[str, Callable[[], float]] = {
                str(gamma): partial(_seconds, ask, "generate", gamma=gamma, **options) for gamma in (0, *GAMMAS)
            }
            for peer in PEERS[:1]:
                runs[peer] = partial(_seconds, asks[peer], "decode", count=32)
            if temperature == 0.0:  # bit-exact, or the comparison is void
                texts = [ask("generate", gamma=gamma, **options)["ids"] for gamma in (0, *GAMMAS)]
                if any(text != texts[0] for text in texts):
                    raise SystemExit(f"{domain}: speculative and plain greedy text differ")
            figures = interleave(runs, rounds)
            speedups = {g: _ratio(figures["0"], figures[str(g)]) for g in GAMMAS}
            best = max(speedups, key=lambda g: speedups[g])
            table[f"T={temperature:g} {domain}"] = {
                "best gamma": best,
                "speedup over our plain": speedups[best],
                "speedups": speedups,
                "over the fastest peer": _ratio(figures[PEERS[0]], figures[str(best)]),
            }
    return table


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=SHAPES, action="append", help="may be repeated; all by default")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / f"minispec-peers-{os.getuid()}")
    args = parser.parse_args()
    console, results = Console(), {}
    for shape in args.shape or SHAPES:
        with console.status(f"{shape}: writing the models …"):
            folder = prepare(shape, args.folder / shape)
        with console.status(f"{shape}: measuring …"):
            results[shape] = measure(shape, args.rounds, folder)
        for title in ("shares", "accuracy", "same_greedy_tokens", "speculation"):
            console.print(f"[bold]{shape}: {title}[/]", results[shape].get(title, ""))
        for name, spread in results[shape]["figures"].items():
            console.print(f"{name:32} {spread['median']:.6g}  ({spread['low']:.6g} … {spread['high']:.6g})")
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
