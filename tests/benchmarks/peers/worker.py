"""One contender's process: ``python -m tests.benchmarks.peers.worker NAME FOLDER``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

MODULES = {
    "minispec": "ours",
    "llama.cpp": "llama_cpp",
    "CTranslate2": "ctranslate2",
    "transformers": "transformers",
    "limits": "limits",
}
"""The first word of a contender's name, and the module beside this one that runs it."""


def main() -> None:
    """Run it: the module's ``run(format, folder)`` ends when its stdin does."""
    engine, _, number_format = sys.argv[1].partition(" ")
    module = importlib.import_module(f"tests.benchmarks.peers.{MODULES[engine]}")
    module.run(number_format, Path(sys.argv[2]))


if __name__ == "__main__":
    main()
