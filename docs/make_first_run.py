"""Run README's first command; write its output into README and docs/first-run.md: ``python docs/make_first_run.py``.

The command is read from README, so that readers see the output of the command they are told to type. It runs four
times. ``docs/first-run.md`` shows the first run in full, README the lines after its text, both all speedups. One
more run, with ``--details``, gives the page its table.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
TUTORIAL = Path(__file__).resolve().parent / "first-run.md"
COMMAND = re.compile(r"^minispec (generate .+ --compare)$", re.MULTILINE)
SHOWN = re.compile(r"<!-- first-run -->\n.*?\n<!-- end first-run -->", re.DOTALL)
DETAILS = re.compile(r"<!-- details -->\n.*?\n<!-- end details -->", re.DOTALL)
SPEEDUP = re.compile(r"^measured speedup +(\d+\.\d\dx)", re.MULTILINE)
FIRST = ("mean acceptance length", "measured speedup", "guarantee", "read on")
RUNS = 4


def run(arguments: str) -> str:
    """Return what a terminal shows of a command: the prompt, the text, the table (which is on stderr)."""
    words = shlex.split(arguments)
    done = subprocess.run(
        [sys.executable, "-m", "minispec", *words],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "112"},
    )
    shown = f"{words[1]}{done.stdout.rstrip()}\n{done.stderr.rstrip()}"
    return "\n".join(line.rstrip() for line in shown.splitlines())


def section(shown: str, printed: list[str]) -> str:
    """Return the text between the markers: what is shown of a run, and the speedups of all runs."""
    speedups = [found[1] for text in printed if (found := SPEEDUP.search(text))]
    told = f"The speedups of {len(speedups)} such runs: {', '.join(speedups)}. Yours will differ."
    return "\n".join(["<!-- first-run -->", "```text", shown, "```", told, "<!-- end first-run -->"])


def details(table: str) -> str:
    """Return the text between the other markers: a run's whole table."""
    return "\n".join(["<!-- details -->", f"```text{table}", "```", "<!-- end details -->"])


def main() -> None:
    """Run, and write."""
    command = COMMAND.search(README.read_text(encoding="utf-8"))
    if command is None:
        raise SystemExit(f"{README} has no first command")
    printed = [run(command[1]) for _ in range(RUNS)]
    lines = "\n".join(line for line in printed[0].splitlines() if line.startswith(FIRST))
    table = "\ntokens " + run(f"{command[1]} --details").partition("\ntokens ")[2]
    for page, shown in ((README, lines), (TUTORIAL, printed[0])):
        before, *after = SHOWN.split(page.read_text(encoding="utf-8"))
        if len(after) != 1:
            raise SystemExit(f"{page} has not one place for what the first command prints")
        text = before + section(shown, printed) + after[0]
        page.write_text(DETAILS.sub(lambda _: details(table), text), encoding="utf-8")
    print(printed[0])


if __name__ == "__main__":
    main()
