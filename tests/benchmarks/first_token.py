"""From the start of the process to the first token: ``python -m tests.benchmarks.first_token [--cold]``.

Each run is a process of its own that goes the way of ``minispec generate`` and takes the time at each station. Warm
runs find compiled kernels in Numba's cache, cold ones (``--cold``) start from an empty folder. Medians.
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
from minispec.generation.ready import compile_sampling_beside
from minispec.backends import get_backend
import numba
station("Numba imports")
with compile_sampling_beside():
    get_backend("panel").warm_up()
    station("kernels compiled or read")
station("sampling and noise compiled or read")
from rich.console import Console
from minispec.cli.pair import Pair
from minispec.generation import Emitted
options = {"target": sys.argv[2], "draft": sys.argv[3], "backend": "panel", "dtype": "float32", "draft_dtype": None}
pair = Pair.load(options, Console(stderr=True, quiet=True))
station("weights read and packed, tokenizers")
events = pair.start("Once upon a time")
next(event for event in events if isinstance(event, Emitted))
station("prompt and first step")
print(json.dumps(stations))
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cold", action="store_true", help="start without compiled kernels, once")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--target", default="target-17m")
    parser.add_argument("--draft", default="draft-1.6m")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if asked.cold:
            runs = [run(asked.target, asked.draft, {"NUMBA_CACHE_DIR": folder})]
        else:
            run(asked.target, asked.draft, {})
            runs = [run(asked.target, asked.draft, {}) for _ in range(asked.repeats)]
    medians = {name: statistics.median(each[name] for each in runs) for name in runs[0]}
    for name, seconds in medians.items():
        print(f"{name:40} {seconds:7.3f} s")
    reading = medians["weights read and packed, tokenizers"]
    print(f"{'first token':40} {sum(medians.values()):7.3f} s, without reading {sum(medians.values()) - reading:.3f} s")


if __name__ == "__main__":
    main()
