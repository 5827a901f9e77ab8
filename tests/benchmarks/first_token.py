"""From the start of the process to the first token: ``python -m tests.benchmarks.first_token [--cold]``.

Each run is a process of its own that goes the way of ``minispec generate`` and takes the time at each station. Warm
runs find compiled kernels in Numba's cache, cold ones (``--cold``) start from an empty folder. Medians. Beside each
warm run goes another process that only imports Numba and calls one cached function: whoever uses Numba pays that.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHILD = """
import json, sys, time
started = float(sys.argv[1])
stations = {}
def station(name, last=[started]):
    now = time.time()
    stations[name], last[0] = now - last[0], now
station("Python starts")
import gc
gc.set_threshold(100_000)  # as the command does
import minispec.cli.generate
station("imports")
from minispec.engine.generation.ready import compile_sampling_beside
from minispec.engine.backends import get_backend
import numba
station("Numba imports")
with compile_sampling_beside():
    get_backend("panel").warm_up()
    station("kernels compiled or read")
station("sampling and noise compiled or read")
from rich.console import Console
from minispec.cli.pair import Pair
from minispec.engine.generation import Emitted
options = {"target": sys.argv[2], "draft": sys.argv[3], "backend": "panel", "dtype": "float32", "draft_dtype": None}
pair = Pair.load(options, Console(stderr=True, quiet=True))
station("weights read and packed, tokenizers")
events = pair.start("Once upon a time")
next(event for event in events if isinstance(event, Emitted))
station("prompt and first step")
print(json.dumps(stations))
"""

NUMBA_ALONE = """
import gc
gc.set_threshold(100_000)
import numba, numpy

@numba.njit(cache=True, parallel=True)
def double(x):
    for i in numba.prange(len(x)):
        x[i] *= 2

double(numpy.ones(8))
"""


def run(target: str, draft: str, environment: dict[str, str]) -> dict[str, float]:
    """Return seconds per station of one process."""
    result = subprocess.run(
        [sys.executable, "-c", CHILD, str(time.time()), target, draft],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    stations: dict[str, float] = json.loads(result.stdout)
    return stations


def time_numba_alone(folder: Path) -> float:
    """Return the seconds that a process takes which calls one cached function of Numba's."""
    script = folder / "alone.py"  # a file, because Numba caches no function of a string
    script.write_text(NUMBA_ALONE)
    started = time.time()
    subprocess.run([sys.executable, str(script)], check=True, env={**os.environ, "NUMBA_CACHE_DIR": str(folder)})
    return time.time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cold", action="store_true", help="start without compiled kernels, once")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--target", default="target-17m")
    parser.add_argument("--draft", default="draft-1.6m")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        alone: list[float] = []
        if asked.cold:
            runs = [run(asked.target, asked.draft, {"NUMBA_CACHE_DIR": folder})]
        else:
            runs = []
            for _ in range(asked.repeats + 1):
                runs.append(run(asked.target, asked.draft, {}))
                alone.append(time_numba_alone(Path(folder)))
            del runs[0], alone[0]  # the first may have compiled
    medians = {name: statistics.median(each[name] for each in runs) for name in runs[0]}
    for name, seconds in medians.items():
        print(f"{name:40} {seconds:7.3f} s")
    reading = medians["weights read and packed, tokenizers"]
    print(f"{'first token':40} {sum(medians.values()):7.3f} s, without reading {sum(medians.values()) - reading:.3f} s")
    if alone:
        ratios = [sum(each.values()) / floor for each, floor in zip(runs, alone, strict=True)]
        print(f"{'Numba alone, one cached function':40} {statistics.median(alone):7.3f} s")
        print(
            f"{'first token / Numba alone':40} {statistics.median(ratios):7.2f}, {min(ratios):.2f} to {max(ratios):.2f}"
        )


if __name__ == "__main__":
    main()
