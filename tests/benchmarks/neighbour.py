"""What a neighbour that takes a core does to decoding: ``python -m tests.benchmarks.neighbour``.

Threads that spin at a barrier wait out a whole time slice when the core they wait for works for somebody else. Each
line is processes of their own, alone and beside a busy loop on the last core, in turns: with the short spin minispec
sets, with the spin libgomp would choose, and on one thread less than there are cores. Medians of milliseconds per
token.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator

from minispec.analysis.timer import interleave

CHILD = """
import sys
from minispec import load_model, stream
from minispec.backends.threads import set_num_threads
set_num_threads(int(sys.argv[1]))
models = {"target": load_model("target-17m"), "draft": load_model("draft-1.6m")}
if sys.argv[2] == "plain":
    models["draft"] = None
options = {"max_tokens": 60, "min_tokens": 60, **models}
runs = [stream("Once upon a time", seed=seed, **options).run().metrics for seed in range(3)]
print(1e3 * min(run.decode_s / run.num_tokens for run in runs[1:]))
"""

LOOP = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"


@contextlib.contextmanager
def neighbour(core: int) -> Iterator[None]:
    """Something else that runs all the time, on one core."""
    process = subprocess.Popen([sys.executable, "-c", LOOP, str(core)])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def milliseconds(threads: int, how: str, spin: str | None, busy_core: int | None) -> float:
    """Return ms per token of a fresh process."""
    environment = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"}
    if spin is not None:
        environment["GOMP_SPINCOUNT"] = spin
    with contextlib.nullcontext() if busy_core is None else neighbour(busy_core):
        result = subprocess.run(
            [sys.executable, "-c", CHILD, str(threads), how],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
    return float(result.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise SystemExit("this needs two cores or more")
    ways = {
        f"{len(cores)} threads, short spin": (len(cores), None),
        f"{len(cores)} threads, libgomp's spin": (len(cores), "300000"),
        f"{len(cores) - 1} threads": (len(cores) - 1, None),
    }
    print(f"{'ms per token':30}{'plain alone':>14}{'beside a loop':>16}{'drafts alone':>16}{'beside a loop':>16}")
    for name, (threads, spin) in ways.items():
        runs = {
            (how, core): lambda how=how, core=core, threads=threads, spin=spin: milliseconds(threads, how, spin, core)
            for how in ("plain", "drafts")
            for core in (None, cores[-1])
        }
        times = {key: statistics.median(found) for key, found in interleave(runs, rounds).items()}
        print(f"{name:30}" + "".join(f"{times[key]:>16.2f}" for key in runs))


if __name__ == "__main__":
    main()
