"""Run README's first command and put what it printed into README: ``python docs/make_first_run.py``, after new weights.

The command is read from README itself, so that what is shown is what the reader is told to type. It is run four times;
the first run is shown, the speedups of all four stand below it.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from minispec.lab.roofline.machine import describe_cpu

README = Path(__file__).resolve().parent.parent / "README.md"
COMMAND = re.compile(r"^python3 -m venv .* && \.venv/bin/minispec (generate .+ --compare)$", re.MULTILINE)
SHOWN = re.compile(r"<!-- first-run -->\n.*?\n<!-- end first-run -->", re.DOTALL)
SPEEDUP = re.compile(r"^measured speedup +(\d+\.\d\dx)", re.MULTILINE)
RUNS = 4


def run(arguments: str) -> str:
    """Return what a terminal shows of a command: the prompt, the text, the table (which is on stderr)."""
    words = shlex.split(arguments)
    done = subprocess.run(
        [sys.executable, "-m", "minispec", *words],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "102"},
    )
    shown = f"{words[1]}{done.stdout.rstrip()}\n{done.stderr.rstrip()}"
    return "\n".join(line.rstrip() for line in shown.splitlines())


def section(printed: list[str], cpu: str, cores: int) -> str:
    """Return what stands between the markers."""
    speedups = [found[1] for text in printed if (found := SPEEDUP.search(text))]
    return "\n".join(
        [
            "<!-- first-run -->",
            f"This is what the first command printed here ({cores} cores, {cpu}; the text comes out in colour, as it "
            "is made):",
            "",
            "```text",
            printed[0],
            "```",
            "",
            f"The speedups of {len(speedups)} such runs here, this one the first: {', '.join(speedups)}. Yours will "
            "differ;",
            "it is measured on your machine, plain and speculative decoding taking turns.",
            "<!-- end first-run -->",
        ]
    )


def main() -> None:
    """Run, and write."""
    text = README.read_text(encoding="utf-8")
    command = COMMAND.search(text)
    if command is None or len(SHOWN.findall(text)) != 1:
        raise SystemExit(f"{README} has no first command, or not one place for what it prints")
    facts = describe_cpu()
    made = section([run(command[1]) for _ in range(RUNS)], facts["cpu"], facts["cores"])
    README.write_text(SHOWN.sub(lambda found: made, text), encoding="utf-8")
    print(made)


if __name__ == "__main__":
    main()
