"""Every sentence of the sources is judged, or there is a reason why not; the table and the entries agree."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from minispec.cli.experiment import experiment
from minispec.errors import InputError
from minispec.experiments.coverage import check_sources, coverage_table, faults, read_table, sentences
from minispec.experiments.framework import NAMES, SEEDS, get_experiment

SOURCES, ROWS = read_table()


def test_the_table_leaves_nothing_out() -> None:
    assert faults(SOURCES, ROWS) == []


def test_every_entry_is_asked_for_by_a_sentence_of_each_of_its_sources() -> None:
    asked = {(entry, row.seed) for row in ROWS for entry in row.entries}
    claimed = {(name, seed) for name in NAMES for seed in get_experiment(name).seeds}
    assert claimed <= asked, sorted(claimed - asked)


def test_rows_are_in_our_words() -> None:
    """Short: no sentence of a source is as short as that, and none is copied."""
    assert all(len(row.says.split()) <= 20 for row in ROWS)
    assert max(len(row.why_none) for row in ROWS) > 40, "reasons are reasons"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda rows: rows[1:], "000: sentences"),
        (lambda rows: [*rows, rows[-1]], "004: sentences"),
        (lambda rows: [replace(rows[0], numbers=(*rows[0].numbers, 999)), *rows[1:]], r"\[999\]"),
        (lambda rows: [replace(rows[0], why_none=""), *rows[1:]], "a reason for none"),
        (lambda rows: [replace(rows[0], says=""), *rows[1:]], "needs what it says"),
        (lambda rows: [rows[0], replace(rows[1], entries=("no-such",)), *rows[2:]], "no-such, which is no entry"),
    ],
)
def test_gaps_are_found(change, fault: str) -> None:
    import re

    assert any(re.search(fault, one) for one in faults(SOURCES, change(list(ROWS))))
    assert faults(SOURCES[1:], ROWS)


def test_the_command_prints_the_table() -> None:
    done = CliRunner().invoke(experiment, ["coverage"])
    assert done.exit_code == 0, done.output
    assert done.output == coverage_table() + "\n"
    assert f"{sum(source.count for source in SOURCES)} sentences" in done.output


def test_documents_are_compared(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        check_sources(tmp_path)
    for file in SEEDS.values():
        (tmp_path / file).write_text("Another document.", encoding="utf-8")
    with pytest.raises(InputError, match=r"not the document of the table \(1 sentences"):
        check_sources(tmp_path)


def test_sentences_are_counted_as_the_table_does() -> None:
    assert sentences("One. Two! 3\n\n• A point: it has a colon\n…\n") == ["One.", "Two!", "A point: it has a colon"]
