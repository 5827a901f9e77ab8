"""``python -m tests.mutants``: run the catalogue, print the table, write ``docs/mutation-score.md``."""

from __future__ import annotations

import sys

from .catalogue import EQUIVALENT, MUTANTS
from .score import PUBLISHED, evidence, is_killed, report, show


def main() -> int:
    seen = []
    for mutant in MUTANTS:
        seen.append(evidence(mutant))
        mark = "killed  " if is_killed(seen[-1]) else "SURVIVES"
        print(f"{mark} {mutant.family:2d} {mutant.name:60s} {mutant.killed_by:32s} {show(seen[-1])}", flush=True)
    wrong = [mutant.name for mutant in EQUIVALENT if is_killed(evidence(mutant))]
    killed = sum(map(is_killed, seen))
    print(
        f"{killed} of {len(seen)} killed; {len(EQUIVALENT)} equivalent, of which noticed after all: {wrong or 'none'}"
    )
    PUBLISHED.write_text(report(seen), encoding="utf-8")
    return int(killed < len(seen) or bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
