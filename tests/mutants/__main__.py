"""``python -m tests.mutants``: run the catalogue, print the table, write ``docs/mutation-score.md``.

With names of checks (``python -m tests.mutants "law of rejection" copies``) only what these must notice, and no page.
"""

from __future__ import annotations

import sys

from .catalogue import EQUIVALENT, MUTANTS
from .checks import CHECKS
from .score import PUBLISHED, evidence, is_killed, report, show


def main(names: list[str]) -> int:
    if unknown := set(names) - set(CHECKS):
        print(f"no check is called {', '.join(sorted(unknown))}; docs/mutation-score.md lists them", file=sys.stderr)
        return 2
    chosen = set(names or CHECKS)
    seen = []
    for mutant in (mutant for mutant in MUTANTS if mutant.killed_by in chosen):
        seen.append(evidence(mutant))
        mark = "killed  " if is_killed(seen[-1]) else "SURVIVES"
        print(f"{mark} {mutant.family:2d} {mutant.name:60s} {mutant.killed_by:32s} {show(seen[-1])}", flush=True)
    equivalent = [mutant for mutant in EQUIVALENT if mutant.killed_by in chosen]
    wrong = [mutant.name for mutant in equivalent if is_killed(evidence(mutant))]
    killed = sum(map(is_killed, seen))
    print(
        f"{killed} of {len(seen)} killed; {len(equivalent)} equivalent, of which noticed after all: {wrong or 'none'}"
    )
    if not names:
        PUBLISHED.write_text(report(seen), encoding="utf-8")
    return int(killed < len(seen) or bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
