"""What to measure on a card that is lent for minutes: ``python -m tests.benchmarks.gpu --lease --json FILE``.

In this order, and every figure is in the file and on the page beside it (``FILE.md``) as soon as it is known:

1. numbers against NumPy, and bits over sizes of chunks; nothing else is measured if they are wrong;
2. the read bandwidth;
3. what a step costs without its bytes: a barrier, a product of one tile with and without a norm, attention;
4. the launch of a forward of one row, XL and 124M, over the weights on their way; the best without the copy engine;
5. 1, 2, 5 and 8 rows with the best, on the card and end to end; a step of speculation beside what its parts take;
6. ``cupy-blas``, and transformers if there is one;
7. ``pytest -m gpu``;
8. this machine's cores, with 1, 2, 4, ... threads, while there is time.

A part that fails says so in its line, and the next one begins.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from minispec.engine.backends.cuda import CupyBackend, CupyBlasBackend
from minispec.engine.backends.cuda.feeding import feed_record
from minispec.engine.backends.cuda.fused import Making
from minispec.engine.backends.cuda.program import ATTENTION, EMBED, LINEAR, Program, Ring
from minispec.engine.generation import stream
from minispec.engine.model import GPT2, GPT2Config
from tests.benchmarks import gpu
from tests.models import random_gpt2

RINGS = ((2, 13), (3, 13), (1, 13), (4, 7), (6, 7), (2, 7))
"""Pieces and tiles on their way: 53 to 172 KB of a multiprocessor's float16 weights."""

ROWS = (1, 2, 5, 8)


class Page:
    """Figures as they come: printed, and in a file and on a page that are whole at every moment."""

    def __init__(self, path: Path | None) -> None:
        self._path, self.figures = path, {}

    def note(self, name: str, value: Any) -> None:
        """Add a figure."""
        self.figures[name] = value
        print(f"{name}: {value}", flush=True)
        if self._path:
            cells = {
                key: str(kept).strip().replace("|", "\\|").replace("\n", "<br>") for key, kept in self.figures.items()
            }
            lines = [f"| {key} | {kept} |" for key, kept in cells.items()]
            self._put(self._path, json.dumps(self.figures, indent=1))
            self._put(self._path.with_suffix(".md"), "\n".join(["| | |", "|---|---|", *lines, ""]))

    def _put(self, path: Path, text: str) -> None:
        fresh = path.with_name(f"{path.name}.new")
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(path)


class Lease:
    """The time on a card, and what is measured in it.

    Parameters
    ----------
    cupy : module
    asked : Namespace
        The benchmark's options.
    """

    def __init__(self, cupy: Any, asked: Any) -> None:
        self.cupy, self.asked, self.page = cupy, asked, Page(asked.json)
        self.until = time.monotonic() + asked.seconds
        self.shapes = ("tiny",) if asked.shape == "tiny" else ("xl", "gpt2")
        self.configs = {name: GPT2Config.from_dict(gpu.SHAPES[name]) for name in self.shapes}
        self.num_bytes = {
            name: gpu.bytes_per_token(config, "float16", asked.context) for name, config in self.configs.items()
        }
        self.limit: int = cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
        self.bandwidth, self.fastest = float("nan"), Ring.fit("float16", self.limit)
        self._models: dict[str, GPT2] = {}

    def spend(self) -> None:
        """Measure until the time is over."""
        self.page.note("card", gpu.describe(self.cupy))
        if not self.right():
            self.right(bulk=False)
            sys.exit("wrong: look no further. Right without the copy engine? Then it is the order of bulk copies")
        for part in (
            self.read,
            self.costs,
            self.rings,
            self.rows,
            self.speculation,
            self.others,
            self.tests,
            self.cores,
        ):
            if time.monotonic() > self.until and part != self.tests:
                self.page.note(part.__name__, "left out: the time was over")
                continue
            try:
                part()
            except Exception as error:  # what one part lacks must not cost the others
                self.page.note(f"{part.__name__} failed", f"{type(error).__name__}: {error}")

    def right(self, bulk: bool = True) -> bool:
        """Compare a small model with NumPy, and chunks of rows with one another."""
        fields = {"n_embd": 96, "n_head": 3, "n_layer": 2, "vocab_size": 211}
        tokens, all_right = np.random.default_rng(3).integers(0, 211, 16).tolist(), True
        for dtype, most in (("float16", 5e-3), ("float32", 1e-4)):
            name = dtype if bulk else f"{dtype} without the copy engine"
            ring = dataclasses.replace(Ring.fit(dtype, self.limit), bulk=bulk)
            expected = random_gpt2("numpy", dtype=dtype, **fields).logits(tokens)
            model, found = random_gpt2(CupyBackend(self.cupy, ring), dtype=dtype, **fields), []
            for size in (1, 2, 5, 16):
                cache = model.new_cache()
                found.append(np.concatenate([model.forward(tokens[i : i + size], cache) for i in range(0, 16, size)]))
            error = float(np.linalg.norm(found[0] - expected) / np.linalg.norm(expected))
            same = all(each.tobytes() == found[0].tobytes() for each in found)
            self.page.note(f"{name}: error", error)
            self.page.note(f"{name}: same bits in any chunks", same)
            all_right &= same and error <= most
        return all_right

    def read(self) -> None:
        most = max(self.num_bytes.values())
        self.bandwidth = most / gpu.read_probe(self.cupy, most, self.asked.repeats)()
        self.page.note("read GB/s", round(self.bandwidth / 1e9, 1))

    def costs(self) -> None:
        """Measure steps that read next to nothing, many in one launch."""
        backend, many = CupyBackend(self.cupy), 10 if self.asked.stand_in else 200
        width = 64 if self.asked.shape == "tiny" else 1600
        ones = backend.place(np.ones((1, width), np.float32))
        y = backend.place(np.zeros((1, width), np.float32))
        tile = backend.pack(np.zeros((width, 16), np.float32), None, "float16")
        kept = backend.zeros((2, 1, 1024, width // 64, 64), "float16")
        with backend.stream:
            pages, ends = (self.cupy.asarray(np.array(index, np.int32)) for index in ([[0]], [self.asked.context]))
        product = {"num_rows": 1, "num_inputs": width, "num_outputs": 16, "weight": tile.weight.data.ptr,
                   "bias": tile.bias.data.ptr, "x": ones.data.ptr, "y": y.data.ptr}  # fmt: skip
        norm = {"norm_weight": ones.data.ptr, "norm_bias": ones.data.ptr, "number": 1e-5}
        attend = {"num_rows": 1, "num_inputs": 64, "num_outputs": width // 64, "number": 0.125, "x": ones.data.ptr,
                  "y": y.data.ptr, "keys": kept[0].data.ptr, "values": kept[1].data.ptr}  # fmt: skip
        kinds: dict[str, tuple[int, int, dict[str, Any]]] = {
            "barrier alone": (EMBED, 0, {}),
            "product of one tile": (LINEAR, 1, product),
            "the same with a norm": (LINEAR, 1, product | norm),
            f"attention over {self.asked.context}": (ATTENTION, width // 64, attend),
        }
        for name, (kind, items, fields) in kinds.items():
            program = Program(backend.blocks)
            for _ in range(many):
                program.add(kind, items, **fields)
            record = feed_record(1024, pages, ends=ends)
            with backend.stream:
                launch = backend._prepare(Making(program, "float16", "float16"), record)
                launch()
            seconds = gpu.on_the_card(self.cupy, backend.stream, launch, self.asked.repeats)
            self.page.note(f"{name}, us", round(seconds / many * 1e6, 2))

    def rings(self) -> None:
        rings = [ring for ring in (Ring(*sizes) for sizes in RINGS) if ring.shared_bytes("float16", 250) <= self.limit]
        took: dict[Ring, float] = {}
        for ring in self._in_time(rings or [self.fastest]):
            took[ring] = self._launch(self.shapes[0], ring, 1)
            for name in self.shapes[1:]:
                self._launch(name, ring, 1)
        self.fastest = min(took, key=took.__getitem__)
        self.page.note("fastest", str(self.fastest))
        for name in self.shapes:
            self._launch(name, dataclasses.replace(self.fastest, bulk=False), 1)

    def rows(self) -> None:
        for name in self.shapes:
            took = {rows: self._launch(name, self.fastest, rows, "the fastest") for rows in self._in_time(ROWS)}
            self.page.note(f"{name}, rows / one row", {rows: round(each / took[1], 3) for rows, each in took.items()})

    def speculation(self) -> None:
        """A draft of the small shape, of random weights: what a step takes, whatever is accepted."""
        target, draft = (self._model(name, self.fastest) for name in (self.shapes[0], self.shapes[-1]))
        options = {"target": target, "max_tokens": 24, "temperature": 0.0}
        took = []
        for drafts in ({"draft": None}, {"draft": draft, "gamma": 4}):
            for _ in range(2):  # the second time all tables are made, and all code is compiled
                started = time.perf_counter()
                done = stream([1, 2, 3], **options, **drafts).run()
                took.append((time.perf_counter() - started) / max(1, len(done.steps)))
        self.page.note("plain step, speculative step of 4 drafts, ms", [round(each * 1e3, 3) for each in took[1::2]])

    def others(self) -> None:
        for name in self._in_time(self.shapes[::-1]):
            reference = gpu.random_model(self.configs[name], CupyBlasBackend(self.cupy), "float16")
            seconds = gpu.steps(reference, self.asked.context, 1, max(1, self.asked.repeats // 10))[1]
            self.page.note(f"{name}, cupy-blas, 1 rows, end to end us", seconds() * 1e6)
            if not self.asked.no_transformers:
                for other, measure in gpu.transformers(self.configs[name], "float16", self.asked.context, 20):
                    self.page.note(f"{name}, {other}, us", measure() * 1e6)

    def tests(self) -> None:
        self._run("pytest -m gpu", "-m", "pytest", "-q", "-m", "gpu", *self.asked.tests)

    def cores(self) -> None:
        for threads in self._in_time([2**i for i in range(7) if 2**i <= (os.cpu_count() or 1)]):
            self._run(f"bench, {threads} threads", "-m", "minispec", "bench", "--quick", "--threads", str(threads))

    def _run(self, name: str, *command: str) -> None:
        """Note how a command ends; it may take as long as is left, and two minutes."""
        try:
            left = max(0.0, self.until - time.monotonic()) + 120
            done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=left, check=False)
            self.page.note(name, (done.stdout + done.stderr)[-1500:])
        except subprocess.TimeoutExpired as error:
            self.page.note(name, f"cut off: {str(error.stdout)[-1500:]}")

    def _in_time(self, things: Any) -> Iterator[Any]:
        """Yield while there is time, and the first in any case."""
        for number, thing in enumerate(things):
            if number == 0 or time.monotonic() < self.until:
                yield thing

    def _model(self, name: str, ring: Ring) -> GPT2:
        if name not in self._models:
            self._models[name] = gpu.random_model(self.configs[name], CupyBackend(self.cupy), "float16")
            self._models[name].backend.stream.synchronize()  # other streams will read its weights
        return dataclasses.replace(self._models[name], backend=CupyBackend(self.cupy, ring))

    def _launch(self, name: str, ring: Ring, rows: int, label: str = "") -> float:
        """Note what a forward takes, on the card and end to end; return the former."""
        model = self._model(name, ring)
        session, end_to_end = gpu.steps(model, self.asked.context, rows, self.asked.repeats)
        took = gpu.launch_seconds(self.cupy, model.backend, session, rows, self.asked.repeats)()
        share = self.num_bytes[name] / took / self.bandwidth
        figures = {"us": took * 1e6, "share": share, "end to end us": end_to_end() * 1e6}
        self.page.note(
            f"{name}, {rows} rows, {label or ring}", {key: round(value, 3) for key, value in figures.items()}
        )
        return took
