"""What a contender can do, and the loop of the process it lives in."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Engine(Protocol):
    """A model with a KV cache that can go back."""

    def forward(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """Feed tokens; logits after each, shape (T, V)."""
        ...

    def rollback(self, length: int) -> None:
        """Keep the first ``length`` tokens of the cache."""
        ...


def decode(engine: Engine, context: Sequence[int], count: int) -> dict[str, Any]:
    """Decode ``count`` tokens greedily after ``context`` (in the cache but for its last token): seconds per token."""
    engine.rollback(len(context) - 1)
    _wake(engine, context)
    token, ids = context[-1], []
    started = time.perf_counter()
    for _ in range(count):
        token = int(np.argmax(engine.forward([token])[-1]))
        ids.append(token)
    seconds = (time.perf_counter() - started) / count
    engine.rollback(len(context) - 1)
    return {"seconds": seconds, "ids": ids}


def verify(engine: Engine, context: Sequence[int], rows: int, repeats: int) -> dict[str, Any]:
    """Feed ``rows`` tokens in one forward, with logits for all of them; median seconds."""
    tokens = [context[-1], *context[:rows]][:rows]
    times = []
    _wake(engine, context)
    for _ in range(repeats):
        engine.rollback(len(context) - 1)
        started = time.perf_counter()
        np.argmax(engine.forward(tokens), axis=-1)
        times.append(time.perf_counter() - started)
    engine.rollback(len(context) - 1)
    return {"seconds": statistics.median(times)}


def wake(work: Callable[[], object], seconds: float = 0.15) -> None:
    """Do some work for a while that nobody times: after a pause threads, clocks and caches are asleep.

    A system takes a while to give every thread a core of its own again.
    """
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        work()


def _wake(engine: Engine, context: Sequence[int]) -> None:
    def decode_one() -> None:
        engine.forward([context[-1]])
        engine.rollback(len(context) - 1)

    wake(decode_one)


def score(engine: Engine, tokens: Sequence[int], path: str) -> dict[str, Any]:
    """Write the logits after each of ``tokens``, fed one by one as decoding does, to ``path`` (.npy)."""
    engine.rollback(0)
    np.save(path, np.concatenate([engine.forward([token]).copy() for token in tokens]))
    return {"rows": len(tokens)}


def serve(
    engine: Engine, context: Sequence[int], extra: dict[str, Callable[..., dict[str, Any]]] | None = None
) -> None:
    """Answer one JSON request a line until stdin ends."""
    for start in range(0, len(context) - 1, 64):
        engine.forward(context[:-1][start : start + 64])
    answers: dict[str, Callable[..., dict[str, Any]]] = {
        "decode": lambda count: decode(engine, context, count),
        "verify": lambda rows, repeats: verify(engine, context, rows, repeats),
        "score": lambda path: _scored(engine, context, path),
        **(extra or {}),
    }
    listen(answers)


def listen(answers: dict[str, Callable[..., dict[str, Any]]]) -> None:
    """Read requests ``{"op": …}`` and write answers, one JSON object a line."""
    out = sys.stdout
    sys.stdout = sys.stderr  # what libraries print must not come between
    print(json.dumps({"ready": True}), file=out, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(answers[request.pop("op")](**request)), file=out, flush=True)


def _scored(engine: Engine, context: Sequence[int], path: str) -> dict[str, Any]:
    answer = score(engine, context, path)
    engine.rollback(0)
    engine.forward(context[:-1])
    return answer


def rotate(context: Sequence[int], count: int) -> list[list[int]]:
    """Return as many texts of one length, none of which begins like another."""
    return [[*context[start:], *context[:start]] for start in range(count)]


def read_context(folder: Path) -> list[int]:
    """Return the tokens that every contender of a shape starts from."""
    tokens: list[int] = json.loads((folder / "context.json").read_text())
    return tokens
