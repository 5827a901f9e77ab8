"""The page's section on heads: figures are taken within a round, and a bar that is missed reads so."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest

from tests.benchmarks import heads
from tests.benchmarks.heads import DOMAINS, GREEDY, PLAIN, SAMPLED, TIMED, Spent
from tests.benchmarks.performance import PAGE

KINDS, KIND, OTHER, DRAFT = ("eagle", "block"), "eagle", "block", heads.DEFAULT_DRAFT
TREE = f"{KIND}, {heads.TREE}"
DRIFT = (1.0, 3.0, 2.0)
"""The machine's speed by round, which no ratio may show."""


def turns(speedup: float, drafting: float = 0.25) -> list[Spent]:
    return [Spent(drift / speedup, drafting * drift, drift, 2.0, [[1]]) for drift in DRIFT]


def planted(**better: float) -> dict[str, Any]:
    """Return times in which every contender gains a factor of 3, the tree one of 3.3."""
    names = dict.fromkeys(heads.contenders(KINDS, GREEDY), 3.0) | {PLAIN: 1.0, TREE: 3.3} | better
    times = {
        (sampling, domain): {n: turns(s) for n, s in names.items()} for sampling, domain in product(TIMED, DOMAINS)
    }
    return {"float32": times, "float16": times}


LENGTHS = {
    (draft, sampling): [length] * 3
    for (draft, length), sampling in product(
        ((DRAFT, 2.0), (heads.DRAFTS[1], 2.0), (KIND, 3.0), (OTHER, 3.0)), heads.SAMPLING
    )
}


def missed(all_times: dict[str, Any], lengths: Any = LENGTHS) -> list[str]:
    return [line for line in heads.tables(KINDS, lengths, all_times).splitlines() if "missed" in line]


def test_every_bar_reached_reads_so() -> None:
    assert missed(planted()) == []
    table = heads.tables(KINDS, LENGTHS, planted())
    assert table.count("| reached |\n") == 2 + 2 * 4 + 4 + 4 + 4
    assert "| T = 0, stories | 3.00 (3.00 … 3.00) |" in table
    assert f"| {KIND}, γ = 5 | {' | '.join(['0.25 (0.25 … 0.25)'] * 4)} |" in table
    assert f"| {KIND}, T = 1 | 3.00 | 3.00 | 3.00 | 3.00 |" in table


def test_each_figure_below_its_bar_is_named() -> None:
    close = {**LENGTHS, (KIND, heads.OPEN): [2.4] * 3}
    (line,) = missed(planted(), close)
    assert line.startswith(f"| {KIND}: ")
    assert "more than draft-1.6m | ≥ 0.5 | 0.40 | **missed**" in line
    behind = missed(planted(**{TREE: 2.9}))
    assert len(behind) == 4
    assert all(f"{TREE} / {KIND}, γ = 3 | ≥ 1 | 0.97" in line for line in behind)
    slow = dict.fromkeys(heads.contenders(KINDS, GREEDY), 2.1) | {PLAIN: 1.0}
    assert [line.split(" | ")[0] for line in missed(planted(**slow))] == [
        f"| {dtype}, {sampling}, {DRAFT}, γ = 3" for dtype, sampling in
        (("float32", GREEDY), ("float32", SAMPLED), ("float16", GREEDY))
    ]  # fmt: skip
    dear = planted()
    for domain in DOMAINS:
        dear["float32"][GREEDY, domain][f"{KIND}, γ = 5"] = turns(3.0, drafting=0.31)
    assert ["drafting 5 tokens" in line for line in missed(dear)] == [True] * 2  # both formats share the planted times


def test_pages_say_what_the_note_does() -> None:
    """README, docs/performance.md and the picture quote the default pair's column of the note's table."""
    dtype, name = heads.DEFAULT
    note = PAGE.read_text(encoding="utf-8").partition(f"| target in {dtype}: times plain decoding |")[2]
    names, _, *rows = (line.strip("| ").split(" | ") for line in note.partition("\n\n")[0].splitlines())
    cells = {row[0]: row[1 + names.index(name)] for row in rows if len(row) > 1}
    gains = {
        (sampling, domain): tuple(float(each) for each in re.findall(r"[\d.]+", cells[f"{sampling}, {domain}"]))
        for sampling, domain in product(TIMED, DOMAINS)
    }
    for page in heads.QUOTED:
        assert f"<!-- speedups -->\n{heads.quote(gains)}\n<!-- end speedups -->" in page.read_text(encoding="utf-8")
    assert heads.PICTURE.read_text(encoding="utf-8") == heads.draw(gains)


def test_what_the_default_pair_gains_is_quoted_with_its_losses_bold() -> None:
    times = planted(**{heads.DEFAULT[1]: 0.5})
    assert heads.quote(heads.gains_of(times)).splitlines()[2:] == [
        f"| {temperature} | {' | '.join(['**0.50x** (0.50–0.50)'] * 3)} |" for temperature in ("0", "1, top-p 0.95")
    ]


def test_a_mean_over_domains_is_geometric() -> None:
    times = planted()["float32"]
    for domain, speedup in zip(DOMAINS, (1.0, 2.0, 4.0), strict=True):
        times[SAMPLED, domain][TREE] = turns(speedup)
    assert heads.speedups(times, SAMPLED, TREE)[heads.MEAN] == pytest.approx([2.0] * 3)
    assert heads.drafting_shares(times, SAMPLED, TREE) == pytest.approx([0.25] * 9)
