"""The kernel compiled for the emulated card: the backend's own source, built by g++ on top of ``emulated_card.hpp``."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

from minispec.engine.backends.cuda.source import source

HEADER = Path(__file__).with_name("emulated_card.hpp")
COMPILER = shutil.which("g++")

_DOORS = """
static const void *steps, *feeds;
static void* arrived;
static int num_steps;
extern "C" int emulate(unsigned grid, unsigned shared, unsigned seed, const void* a, int n, const void* b, void* c) {
  steps = a, num_steps = n, feeds = b, arrived = c;
  return launch(grid, THREADS, shared, seed, [] { run((const Step*)steps, num_steps, (const Feed*)feeds, (unsigned*)arrived); });
}
extern "C" int size_of(int which) {
  return which == 0 ? (int)sizeof(Step) : which == 1 ? (int)sizeof(Feed) : which == 2 ? THREADS : (int)sizeof(Shared) - (int)sizeof(Shelf);
}
"""  # noqa: E501


def build(folder: Path, options: tuple[str, ...], code: str | None = None) -> ctypes.CDLL:
    """Compile the kernel with a backend's options; ``code`` stands in for the source, to try a wrong one."""
    code = source(HEADER.read_text()) if code is None else code
    defines = [option for option in options if option.startswith("-D")]
    name = "".join(defines).replace("-D", "_").replace("=", "")
    unit, library = folder / f"card{name}.cpp", folder / f"card{name}.so"
    unit.write_text(code + _DOORS)
    subprocess.run(
        [COMPILER, "-std=c++17", "-O1", "-ffp-contract=off", "-U_FORTIFY_SOURCE", "-fPIC", "-shared", "-w", *defines,
         "-o", library, unit],
        check=True,
    )  # fmt: skip
    return ctypes.CDLL(str(library))
