"""Many texts at once, ours and llama.cpp's: ``python -m tests.benchmarks.peers.batches [--shape bundled] [--batch 8]``.

Each contender decodes the same texts greedily and together, by its own means: our engine with its pages and its
scheduler, llama.cpp's batch with a sequence per text. Seconds per token of all texts, prompts left out; ratios are
medians over rounds in which all took turns.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console
from rich.table import Table

from minispec.lab.timer import interleave
from tests.benchmarks.peers.__main__ import contender
from tests.benchmarks.peers.shapes import SHAPES, prepare

PAIRS = (
    ("minispec float32 kv float16", "llama.cpp f32"),
    ("minispec float16 kv float16", "llama.cpp f16"),
    ("minispec float32", "llama.cpp f32"),
    ("minispec float16", "llama.cpp f16"),
)
"""llama.cpp keeps keys and values in float16, unless told otherwise; we in float32."""


def measure(folder: Path, batches: list[int], count: int, rounds: int) -> Table:
    """Let the contenders take turns on one shape; return a row per batch and number format."""
    table = Table("texts", "ours", "peer", "ours, tokens/s", "peer, tokens/s", "times faster (range)", "same tokens")
    with ExitStack() as stack:
        turns: list[str] = []
        names = dict.fromkeys(name for pair in PAIRS for name in pair)
        asks = {name: stack.enter_context(contender(name, folder, turns)) for name in names}

        def seconds(name: str, batch: int) -> float:
            answer = asks[name]("together", batch=batch, count=count)
            ids[name, batch] = answer["ids"]
            return float(answer["seconds"])

        ids: dict[tuple[str, int], list[list[int]]] = {}
        for batch in batches:
            runs = {name: lambda name=name: seconds(name, batch) for name in asks}  # type: ignore[misc]  # noqa: B023
            for run in runs.values():
                run()  # once for nothing: memory, caches, thread pools
            found = interleave(runs, rounds)
            for ours, peer in PAIRS:
                ratios = [theirs / our for our, theirs in zip(found[ours], found[peer], strict=True)]
                table.add_row(
                    str(batch), ours, peer,
                    *(f"{1 / statistics.median(found[name]):,.0f}" for name in (ours, peer)),
                    f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
                    f"{_share_of_same(ids[ours, batch], ids[peer, batch]):.0%}",
                )  # fmt: skip
    return table


def _share_of_same(ours: list[list[int]], theirs: list[list[int]]) -> float:
    """Return the share of texts that are the same; two likely tokens that tie to rounding part the others."""
    return sum(map(list.__eq__, ours, theirs)) / len(ours)


def main() -> None:
    """Read arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=SHAPES, action="append", help="may be repeated; bundled by default")
    parser.add_argument("--batch", type=int, action="append", help="texts; may be repeated; 8 and 32 by default")
    parser.add_argument("--count", type=int, default=48, help="tokens of every text")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    console = Console()
    for shape in given.shape or ["bundled"]:
        folder = prepare(shape, Path(tempfile.gettempdir()) / "minispec-peers-batches" / shape)
        console.print(f"[bold]{shape}[/]", measure(folder, given.batch or [8, 32], given.count, given.rounds))


if __name__ == "__main__":
    main()
