"""Every lesson runs from top to bottom, for its author and for a learner who has written nothing yet."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

from minispec.course.teaching import notebooks as books
from minispec.course.teaching.explore import STATIC
from minispec.course.teaching.find import ROOTS, SOLUTIONS, Files, lessons, unpack
from minispec.engine.loading import load_model
from tests.course.teaching.kernel import assert_moves, live_kernel, surroundings

ALL = lessons()
LIMIT_S = 600
"""For one cell, on a busy machine."""
LINE = 88
QUICK = "05"
"""Runs in the default suite; the learner's copies of the others are slow. Solved, CI runs them for the site."""


def name(files: Files) -> str:
    return f"{files.number}_{files.slug}"


def everyone(*in_ci: str) -> list[Any]:
    """The quick lesson; those of CI are slow, all others are run by hand."""
    marks: dict[str, Any] = dict.fromkeys(in_ci, pytest.mark.slow) | {QUICK: ()}
    return [pytest.param(files, id=name(files), marks=marks.get(files.number, pytest.mark.exhaustive)) for files in ALL]


def book_of(files: Files, *, solved: bool) -> Any:
    source = files.source.read_text(encoding="utf-8")
    return nbformat.reads(books.notebook(source, name(files), solved=solved), as_version=4)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("files", everyone())
def test_the_solved_lesson_is_complete_in_a_live_kernel(files: Files, tmp_path: Path) -> None:
    """As JupyterLab runs it: every cell, every slider in it moved to both ends, another prompt in every text field."""
    cells = [cell.source for cell in book_of(files, solved=True).cells if cell.cell_type == "code"]
    said, moved = [], 0
    with live_kernel(**surroundings(tmp_path)) as kernel:
        for cell in cells:
            heard = assert_moves(kernel, cell)
            said.append(heard.text)
            moved += bool(heard.sliders or heard.fields)
    everything = "\n".join(said)
    assert "✗" not in everything
    assert re.search(r"✓ all \d+ done\. That was lesson", everything), everything[-300:]
    assert moved == sum(bool(re.search("^explore", cell, re.MULTILINE)) for cell in cells)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("files", everyone("01", "11", "15"))
def test_the_learners_lesson_stops_only_at_what_is_not_written(
    files: Files, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without a live frontend, as the site is made; cells may stop only where something is not written yet."""
    monkeypatch.setenv(STATIC, "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOTS[0].parent) + os.pathsep + os.environ.get("PYTHONPATH", ""))
    book = book_of(files, solved=False)
    nbclient.NotebookClient(
        book,
        timeout=LIMIT_S,
        kernel_name="python3",
        allow_error_names=["NotImplementedError"],
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()
    outputs = [output for cell in book.cells for output in cell.get("outputs", [])]
    said = "\n".join(output.get("text", "") or output.get("data", {}).get("text/plain", "") for output in outputs)
    assert "✓ all" not in said
    assert "▢ 0 of" in said  # an empty notebook has solved nothing


def test_notebooks_are_what_their_sources_make() -> None:
    """Regenerate with ``python -m minispec.course.teaching``."""
    root = ROOTS[0]
    sources = sorted((root / "source").glob("*.py"))
    assert [path.stem for path in sources] == [name(files) for files in ALL]
    for source in sources:
        made = books.notebook(source.read_text(encoding="utf-8"), source.stem, solved=False)
        assert (root / "notebooks" / f"{source.stem}.ipynb").read_text(encoding="utf-8") == made, source.stem


@pytest.mark.parametrize("files", ALL, ids=name)
def test_a_lesson_hangs_together(files: Files) -> None:
    """Each step is checked in the notebook and has a solution of at most 30 lines; each prediction is asked."""
    source = files.source.read_text(encoding="utf-8")
    checks = files.checks()
    solved = books.solutions(source, name(files))
    packed = json.loads((files.root / "checks" / SOLUTIONS).read_text(encoding="utf-8"))[files.number]
    assert {step: unpack(code) for step, code in packed.items()} == solved
    assert {step.name for step in checks.STEPS} == set(solved)
    for step in checks.STEPS:
        assert f'lesson.check("{step.name}", {step.name})' in source
        assert step.hints, f"{step.name} has no hints"
    assert not re.search(r"^lesson\.(hint|solution)\(", source, re.MULTILINE), "printed by whoever runs all cells"
    for block in re.findall(rf"{books.BEGIN}\n(.*?){books.END}", source, re.DOTALL):
        assert len(block.splitlines()) <= 31, block
    for prediction in checks.PREDICTIONS:
        assert f'.predict("{prediction.name}", ' in source
        assert prediction.judge(prediction.answer)[0] == "right"


@pytest.mark.parametrize("files", ALL, ids=name)
def test_every_mistake_is_wrong_and_named(files: Files) -> None:
    """The negative control of each check: its own list of mistakes, each told apart from the right answer."""
    for step in files.checks().STEPS:
        assert step.judge(step.reference)[0] == "right", step.name
        assert step.mistakes, f"{step.name} names no mistake"
        for mistake in step.mistakes:
            kind, message = step.judge(mistake.function)
            assert kind == "wrong", f"{step.name}: {mistake.message}"
            assert message.startswith(mistake.message), f"{step.name}: {mistake.message}\nwas taken for: {message}"


def test_lesson_1_predicts_the_shape_of_its_own_text() -> None:
    """The one answer that a new vocabulary would change; the words are fewer than the tokens, which is the point."""
    lesson = next(files for files in ALL if files.number == "01")
    text = re.search(r'tokens = model\.tokenizer\.encode\("(.+)"\)', lesson.source.read_text(encoding="utf-8"))
    shape = next(one for one in lesson.checks().PREDICTIONS if one.name == "shape")
    model = load_model("draft-1.6m", backend="numpy")
    assert text
    assert model.tokenizer is not None
    assert shape.answer == (len(model.tokenizer.encode(text[1])), model.config.n_embd)
    assert shape.judge((len(text[1].split()), model.config.n_embd))[0] == "wrong"


def test_learners_notebooks_hold_no_solution() -> None:
    for files in ALL:
        book = files.notebook.read_text(encoding="utf-8")
        assert "SOLUTION" not in book
        assert '"outputs": []' in book
        assert not re.search(r'"outputs": \[\s*\{', book)
        for code in books.solutions(files.source.read_text(encoding="utf-8"), name(files)).values():
            last = code.splitlines()[-1].strip()
            assert json.dumps(last)[1:-1] not in book or len(last) < 12, last


@pytest.mark.parametrize("files", ALL, ids=name)
def test_a_lesson_says_how_long_and_how_hard_it_is_and_where_it_comes_from(files: Files) -> None:
    cells = book_of(files, solved=False).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    (total,) = re.findall(r"About (\d+) minutes", text)
    sections = re.findall(rf"^## {int(files.number)}\.\d+ · .+\n\n\*(\d+) minutes · ([●○]{{3}})\*$", text, re.MULTILINE)
    assert len(sections) == len(re.findall(r"^## \d", text, re.MULTILINE))
    assert sum(int(minutes) for minutes, _ in sections) == int(total)
    assert f"(notebooks/{files.notebook.name}) | {total} |" in (files.root / "README.md").read_text(encoding="utf-8")
    assert text.count("**If you only have ten minutes:**") == 1
    assert "wrong first" in text.lower()
    assert 2 <= len(references(files)) <= 4
    for line in references(files):
        assert re.match(r"[^*]+, \*[^*]+\*, .*\b(19|20)\d\d\b", line), f"authors, *title*, where and when: {line}"


def references(files: Files) -> list[str]:
    last = files.source.read_text(encoding="utf-8").split("# ## References\n")[1]
    return re.findall(r"^# - (.+)$", last, re.MULTILINE)


def test_a_number_of_arxiv_belongs_to_one_title() -> None:
    lines = [line for files in ALL for line in references(files)]
    numbered = {re.findall(r"\*([^*]+)\*.*arXiv (\d{4}\.\d{5})", line)[0] for line in lines if "arXiv" in line}
    titles, numbers = zip(*numbered, strict=True)
    assert len(numbered) == len(set(titles)) == len(set(numbers)) > 15


@pytest.mark.parametrize("files", ALL, ids=name)
def test_code_needs_no_sideways_scrolling(files: Files) -> None:
    """Of both notebooks: the code block of a page is about as wide."""
    for solved in (False, True):
        lines = [
            line
            for cell in book_of(files, solved=solved).cells
            if cell.cell_type == "code"
            for line in cell.source.splitlines()
        ]
        assert [line for line in lines if len(line) > LINE] == []


@pytest.mark.parametrize("files", ALL, ids=name)
def test_files_that_a_lesson_names_are_there(files: Files) -> None:
    named = re.findall(r"`((?:minispec|docs|weights)/[\w./]*)`", files.source.read_text(encoding="utf-8"))
    assert [path for path in named if not (ROOTS[0].parent / path).exists()] == []


def test_what_is_said_of_lesson_5s_two_laws_is_so() -> None:
    """A reply once gave Σ p² the name of Σ p·q."""
    checks = next(files for files in ALL if files.number == "05").checks()
    asked = next(one for one in checks.PREDICTIONS if one.name == "acceptance")
    apart = abs(checks.P - checks.Q).sum() / 2
    assert asked.answer == pytest.approx(1 - apart)
    assert "Σ p·q" in asked.judge(float(checks.P @ checks.Q))[1]
    assert "total variation" in asked.judge(float(apart))[1]
