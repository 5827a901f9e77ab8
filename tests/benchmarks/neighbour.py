"""What processes that want the cores do to decoding: ``python -m tests.benchmarks.neighbour``.

Each way for threads to wait, in a process of its own: as minispec chooses while it runs; fixed, spinning as briefly as
minispec sets it, spinning as long as libgomp would, or asleep; and one thread. Alone, beside one busy loop on the last
core, and beside three for each core. The ways take turns; milliseconds per token are medians over the rounds, with the
least and the most, and what is chosen is compared with the best fixed way round by round.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator

from minispec.lab.timer import interleave

CHILD = """
import sys
from minispec import load_model, stream
from minispec.engine.backends import threads
threads.set_num_threads(int(sys.argv[1]))
if sys.argv[2] == "fixed":
    threads.run_watched = lambda forward, *arguments: forward(*arguments)
models = {"target": load_model("target-17m"), "draft": load_model("draft-1.6m") if sys.argv[3] == "drafts" else None}
options = {"max_tokens": 60, "min_tokens": 60, **models}
runs = [stream("Once upon a time", seed=seed, **options).run().metrics for seed in range(3)]
print(1e3 * sum(run.decode_s for run in runs[1:]) / sum(run.num_decode_tokens for run in runs[1:]))
"""

LOOP = "import os, sys\nif sys.argv[1]: os.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"
CHOSEN = "chosen at run time"


@dataclasses.dataclass(frozen=True)
class Way:
    """How threads wait; ``spin`` is GOMP_SPINCOUNT, by default what minispec sets."""

    threads: int
    fixed: str
    spin: str | None = None


@contextlib.contextmanager
def neighbours(count: int, core: str) -> Iterator[None]:
    """Processes that compute all the time; on one core, if it is named."""
    processes = [subprocess.Popen([sys.executable, "-c", LOOP, core]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def milliseconds(way: Way, how: str) -> float:
    """Return ms per token of a fresh process."""
    environment = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"}
    if way.spin is not None:
        environment["GOMP_SPINCOUNT"] = way.spin
    result = subprocess.run(
        [sys.executable, "-c", CHILD, str(way.threads), way.fixed, how],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(result.stdout)


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--loops", type=int, action="append", help="by default 0, 1 and three for each core")
    arguments = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise SystemExit("this needs two cores or more")
    ways = {
        CHOSEN: Way(len(cores), "chosen"),
        "short spin": Way(len(cores), "fixed"),
        "libgomp's spin": Way(len(cores), "fixed", "300000"),
        "asleep": Way(len(cores), "fixed", "0"),
        "one thread": Way(1, "fixed"),
    }
    for count in arguments.loops or (0, 1, 3 * len(cores)):
        print(f"\n{len(cores)} cores, {count} busy loops; load {os.getloadavg()[0]:.1f} at the beginning")
        print(f"{'ms per token':20}{'plain':>28}{'with drafts':>28}")
        with neighbours(count, str(cores[-1]) if count == 1 else ""):
            runs = {
                (how, name): lambda how=how, way=way: milliseconds(way, how)
                for how in ("plain", "drafts")
                for name, way in ways.items()
            }
            times = interleave(runs, arguments.rounds)
        for name in ways:
            print(f"{name:20}" + "".join(f"{spread(times[how, name]):>28}" for how in ("plain", "drafts")))
        ratios = []
        for how in ("plain", "drafts"):
            medians = {name: statistics.median(times[how, name]) for name in ways if name != CHOSEN}
            best = min(medians, key=medians.__getitem__)
            pairs = zip(times[how, CHOSEN], times[how, best], strict=True)
            ratios.append(spread([chosen / fixed for chosen, fixed in pairs]) + f", {best}")
        print(f"{'chosen / best fixed':20}" + "".join(f"{ratio:>28}" for ratio in ratios), flush=True)


if __name__ == "__main__":
    main()
