"""What to measure on a card that is lent for minutes: ``python -m tests.benchmarks.gpu --lease --json FILE``.

In this order, and every figure is in the file and on the page beside it (``FILE.md``) as soon as it is known:

1. numbers against NumPy, and bits over sizes of chunks; nothing else is measured if they are wrong;
2. the read bandwidth;
3. what a step costs without its bytes: a barrier, a product of one tile with and without a norm, attention;
4. the launch of a forward of one row, XL and 124M, over the weights on their way; the best without the copy engine;
5. 1, 2, 5 and 8 rows with the best, on the card and end to end, beside ``cupy-blas``;
6. ``pytest -m gpu``.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from minispec.engine.backends.cuda import CupyBackend, CupyBlasBackend, describe_gpu
from minispec.engine.backends.cuda.feeding import feed_record
from minispec.engine.backends.cuda.fused import Making
from minispec.engine.backends.cuda.program import ATTENTION, EMBED, LINEAR, Program, Ring
from minispec.engine.model import GPT2, GPT2Config
from tests.benchmarks import gpu
from tests.models import random_gpt2

RINGS = ((2, 13), (3, 13), (1, 13), (4, 7), (6, 7), (2, 7))
"""Pieces and tiles on their way: 53 to 172 KB of a multiprocessor's float16 weights."""

ROWS = (1, 2, 5, 8)


class Page:
    """Figures as they come: printed, and written to a file and a page each time."""

    def __init__(self, path: Path | None) -> None:
        self._path, self.figures = path, {}

    def note(self, name: str, value: Any) -> None:
        """Add a figure."""
        self.figures[name] = value
        print(f"{name}: {value}", flush=True)
        if self._path:
            self._path.write_text(json.dumps(self.figures, indent=1), encoding="utf-8")
            lines = [f"| {key} | {kept} |" for key, kept in self.figures.items()]
            self._path.with_suffix(".md").write_text("\n".join(["| | |", "|---|---|", *lines, ""]), encoding="utf-8")


def spend(cupy: Any, asked: Any, probe: Callable[..., Callable[[], float]]) -> None:
    """Measure until the time is over; ``asked`` are the benchmark's options."""
    until, page = time.monotonic() + asked.seconds, Page(asked.json)
    page.note("card", describe_gpu())
    check(cupy, page)
    shapes = ("tiny",) if asked.shape == "tiny" else ("xl", "gpt2")
    configs = {name: GPT2Config.from_dict(gpu.SHAPES[name]) for name in shapes}
    num_bytes = {name: gpu.bytes_per_token(config, "float16", asked.context) for name, config in configs.items()}
    most = max(num_bytes.values())
    bandwidth = most / probe(cupy, most, asked.repeats)()
    page.note("read GB/s", round(bandwidth / 1e9, 1))
    costs(cupy, asked, page)
    models = {name: gpu.random_model(config, CupyBackend(cupy), "float16") for name, config in configs.items()}

    def measure(name: str, ring: Ring | None, rows: int) -> float:
        model = dataclasses.replace(models[name], backend=CupyBackend(cupy, ring))
        session, end_to_end = gpu.steps(model, asked.context, rows, asked.repeats)
        took = gpu.launch_seconds(cupy, model.backend, session, rows, asked.repeats)()
        share = num_bytes[name] / took / bandwidth
        label = f"{name}, {rows} rows, {ring or 'what fits'}"
        page.note(label, {"us": took * 1e6, "share": round(share, 3), "end to end us": end_to_end() * 1e6})
        return took

    limit, best = cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"], {}
    rings = [ring for ring in (Ring(*sizes) for sizes in RINGS) if ring.shared_bytes("float16", 250) <= limit]
    for ring in rings or [Ring.fit("float16", limit)]:
        if time.monotonic() < until:
            best[ring] = measure(shapes[0], ring, 1)
            for name in shapes[1:]:
                measure(name, ring, 1)
    fastest = min(best, key=best.__getitem__)
    page.note("fastest", str(fastest))
    for name in shapes:
        for rows in ROWS:
            if time.monotonic() < until:
                measure(name, fastest, rows)
        if time.monotonic() < until:
            measure(name, dataclasses.replace(fastest, bulk=False), 1)
    for name in shapes[::-1]:
        if time.monotonic() < until:
            reference: GPT2 = gpu.random_model(configs[name], CupyBlasBackend(cupy), "float16")
            seconds = gpu.steps(reference, asked.context, 1, max(1, asked.repeats // 10))[1]
            page.note(f"{name}, cupy-blas, 1 rows, end to end us", seconds() * 1e6)
    if "tiny" not in shapes:
        done = subprocess.run([sys.executable, "-m", "pytest", "-m", "gpu", "-q"], capture_output=True, text=True)
        page.note("pytest -m gpu", done.stdout[-1500:])


def check(cupy: Any, page: Page) -> None:
    """Compare a small model with NumPy, and chunks of rows with one another; stop if they differ."""
    fields = {"n_embd": 192, "n_head": 3, "n_layer": 3, "vocab_size": 211}
    tokens = np.random.default_rng(3).integers(0, 211, 40).tolist()
    for dtype in ("float16", "float32"):
        expected = random_gpt2("numpy", dtype=dtype, **fields).logits(tokens)
        model, found = random_gpt2(CupyBackend(cupy), dtype=dtype, **fields), []
        for size in (1, 2, 5, 8, 40):
            cache = model.new_cache()
            found.append(np.concatenate([model.forward(tokens[i : i + size], cache) for i in range(0, 40, size)]))
        error = float(np.linalg.norm(found[0] - expected) / np.linalg.norm(expected))
        same = all(each.tobytes() == found[0].tobytes() for each in found)
        page.note(f"{dtype}: error", error)
        page.note(f"{dtype}: same bits in any chunks", same)
        if not same or not error <= (5e-3 if dtype == "float16" else 1e-4):
            sys.exit("wrong: look no further. With Ring(..., bulk=False) right? Then it is the bulk copy's order")


def costs(cupy: Any, asked: Any, page: Page, many: int = 200) -> None:
    """Measure steps that read next to nothing, many in one launch."""
    backend = CupyBackend(cupy)
    width = 64 if asked.shape == "tiny" else 1600
    ones = backend.place(np.ones((1, width), np.float32))
    y = backend.place(np.zeros((1, width), np.float32))
    tile = backend.pack(np.zeros((width, 16), np.float32), None, "float16")
    kept = backend.zeros((2, 1, 1024, width // 64, 64), "float16")
    index = (
        backend.stream and cupy.asarray(np.array([[0]], np.int32)),
        cupy.asarray(np.array([asked.context], np.int32)),
    )
    product = {"num_rows": 1, "num_inputs": width, "num_outputs": 16, "weight": tile.weight.data.ptr,
               "bias": tile.bias.data.ptr, "x": ones.data.ptr, "y": y.data.ptr}  # fmt: skip
    norm = {"norm_weight": ones.data.ptr, "norm_bias": ones.data.ptr, "number": 1e-5}
    attend = {"num_rows": 1, "num_inputs": 64, "num_outputs": width // 64, "number": 0.125, "x": ones.data.ptr,
              "y": y.data.ptr, "keys": kept[0].data.ptr, "values": kept[1].data.ptr}  # fmt: skip
    kinds: dict[str, tuple[int, int, dict[str, Any]]] = {
        "barrier alone": (EMBED, 0, {}),
        "product of one tile": (LINEAR, 1, product),
        "the same with a norm": (LINEAR, 1, product | norm),
        f"attention over {asked.context}": (ATTENTION, width // 64, attend),
    }
    for name, (kind, items, fields) in kinds.items():
        program = Program(backend.blocks)
        for _ in range(many):
            program.add(kind, items, **fields)
        record = feed_record(1024, index[0], ends=index[1])
        with backend.stream:
            launch = backend._prepare(Making(program, "float16", "float16"), record)
            launch()
        seconds = gpu.on_the_card(cupy, backend.stream, launch, asked.repeats)
        page.note(f"{name}, us", round(seconds / many * 1e6, 2))
