"""What the pages themselves owe, without building the site."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGE_LINK = re.compile(r"\]\(http://127\.0\.0\.1:8000/#([^)]+)\)")


def python_blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", ["extend.md", "first-run.md"])
def test_the_examples_run(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    blocks = python_blocks(page)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), names)


def test_every_page_is_in_the_table_of_contents() -> None:
    listed = re.findall(r"^([\w-]+)$", (DOCS / "index.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert {path.stem for path in DOCS.glob("*.md")} - {"index"} == set(listed)


def test_the_plots_of_the_theory_are_those_of_its_formulas() -> None:
    drawn = runpy.run_path(str(DOCS / "make_theory.py"))["picture"]()
    assert drawn == (DOCS / "_static" / "theory.svg").read_text(encoding="utf-8")


def page_links() -> list[tuple[str, str]]:
    """Return what the lessons ask of the page that decodes in the browser: lesson, and what stands behind the ``#``."""
    sources = sorted(ROOT.glob("lessons/source/*.py"))
    return [(path.stem, link) for path in sources for link in PAGE_LINK.findall(path.read_text(encoding="utf-8"))]


def relative_links(page: Path) -> list[str]:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if not re.match(r"[a-z]+:|#", link)]


def test_links_work_in_a_plain_view_of_the_files() -> None:
    """As a hosting site shows them: every relative link leads to a file of the repository."""
    pages = [*DOCS.glob("*.md"), *DOCS.glob("lab-notes/*.md"), *ROOT.glob("*.md"), *ROOT.glob("lessons/**/README.md")]
    broken = [
        f"{page.name}: {link}"
        for page in pages
        for link in relative_links(page)
        if not (page.parent / link.split("#")[0]).exists()
    ]
    assert broken == []


def test_lessons_link_runs_of_the_page_by_names_that_it_takes() -> None:
    script = (ROOT / "minispec" / "serving" / "page" / "link.js").read_text(encoding="utf-8")
    names = re.findall(r'"(\w+)"', script.partition("FIELDS = [")[2].partition("]")[0])
    told = (DOCS / "try.md").read_text(encoding="utf-8").partition("The names are ")[2].partition(".")[0]
    assert re.findall(r"`(\w+)`", told) == names
    links = page_links()
    assert {name[:2] for name, _ in links} == {"04", "05", "08"}
    for name, link in links:
        held = dict(parse_qsl(link, strict_parsing=True))
        assert set(held) <= set(names), name
        assert {"prompt", "gamma", "seed"} <= set(held), name
