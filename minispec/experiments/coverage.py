"""Which sentence of the sources is judged by which entry of the ledger: a table that leaves none out.

The sources are not part of the repository. The table (``coverage.jsonl``) has, for each, a hash, the number of its
sentences as :func:`sentences` counts them, and rows that between them name every sentence once: what it says in our
words, and the entries that judge it, or why there is none. ``minispec experiment coverage`` prints it and checks it;
with ``--sources`` against the documents themselves.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from minispec.errors import InputError, explain
from minispec.experiments.framework import NAMES, SEEDS

DATA = Path(__file__).with_name("coverage.jsonl")


@dataclass(frozen=True, slots=True)
class Source:
    """A document.

    Attributes
    ----------
    seed : str
        Its first three digits.
    sha256 : str
    count : int
        Its sentences.
    """

    seed: str
    sha256: str
    count: int


@dataclass(frozen=True, slots=True)
class Row:
    """Sentences that say one thing.

    Attributes
    ----------
    seed : str
    numbers : tuple of int
        From 1 on.
    says : str
        In our words.
    entries : tuple of str
        What judges it.
    why_none : str
        Why nothing does; empty where something does.
    """

    seed: str
    numbers: tuple[int, ...]
    says: str
    entries: tuple[str, ...]
    why_none: str


def sentences(text: str) -> list[str]:
    r"""Split a document: at line ends, and behind ``. ! ? :`` before a capital, a digit or a mark; without empty ones.

    Examples
    --------
    >>> sentences("A heading\n\nIt is fast. Is it? 2–3x: yes.\n12\na = 1")
    ['A heading', 'It is fast.', 'Is it?', '2–3x: yes.', 'a = 1']
    """
    pieces = (
        piece.strip()
        for line in text.splitlines()
        for piece in re.split(r"(?<=[.!?:])[\"”)]?\s+(?=[\"“(A-Z0-9>*#⚡•-])", line.strip().strip("•"))
    )
    return [piece for piece in pieces if re.search(r"[A-Za-z]{2}|=", piece)]


@cache
def read_table() -> tuple[tuple[Source, ...], tuple[Row, ...]]:
    """Read the committed table."""
    sources, rows = [], []
    for line in DATA.read_text(encoding="utf-8").splitlines():
        found = json.loads(line)
        if "sha256" in found:
            sources.append(Source(**found))
        else:
            entries, why_none = tuple(found.get("entries", ())), found.get("why_none", "")
            rows.append(Row(found["seed"], tuple(found["numbers"]), found["says"], entries, why_none))
    return tuple(sources), tuple(rows)


def faults(sources: Sequence[Source], rows: Sequence[Row]) -> list[str]:
    """Say what a table lacks: sentences left out or named twice, entries that there are not, rows without a reason."""
    found = []
    if {source.seed for source in sources} != set(SEEDS):
        found.append(f"the sources are {sorted(source.seed for source in sources)}, not {sorted(SEEDS)}")
    for source in sources:
        named = Counter(number for row in rows if row.seed == source.seed for number in row.numbers)
        wrong = [n for n in range(1, source.count + 1) if named[n] != 1] + [
            n for n in named if not 1 <= n <= source.count
        ]
        if wrong:
            found.append(f"{source.seed}: sentences {wrong} are not named exactly once")
    for row in rows:
        place = f"{row.seed}:{','.join(map(str, row.numbers))}"
        if not row.says or bool(row.entries) == bool(row.why_none):
            found.append(f"{place} needs what it says, and entries or a reason for none")
        found += [f"{place} names {entry}, which is no entry" for entry in row.entries if entry not in NAMES]
    return found


def check_sources(folder: Path) -> None:
    """Compare the table with the documents.

    Raises
    ------
    InputError
        If one is missing, or is not the one that the table was made of.
    """
    for source in read_table()[0]:
        path = folder / SEEDS[source.seed]
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InputError(f"{path} cannot be read ({explain(error)}). Give the sources' folder: --sources") from None
        count = len(sentences(content.decode("utf-8")))
        if hashlib.sha256(content).hexdigest() != source.sha256 or count != source.count:
            raise InputError(
                f"{path} is not the document of the table ({count} sentences, not {source.count}). Restore it"
            )


def coverage_table() -> str:
    """Return the table as Markdown."""
    sources, rows = read_table()
    lines = ["| source | sentence | says, in our words | judged by |", "| --- | --- | --- | --- |"]
    for row in rows:
        by = ", ".join(f"[{entry}](claims.md#{entry})" for entry in row.entries) or f"none: {row.why_none}"
        lines.append(f"| {row.seed} | {_ranges(row.numbers)} | {row.says} | {by} |")
    judged = sum(len(row.numbers) for row in rows if row.entries)
    every = sum(source.count for source in sources)
    return "\n".join([*lines, "", f"{every} sentences, {judged} of them judged by an entry."])


def _ranges(numbers: Sequence[int]) -> str:
    """Write 1, 2, 3, 7 as 1–3, 7."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}–{part[-1]}" for part in parts)
