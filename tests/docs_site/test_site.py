"""The site builds without a warning, and every page of it can be read: on a desk, on a phone, without a network."""

from __future__ import annotations

import functools
import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

MISSING = [name for name in ("sphinx", "myst_nb", "furo", "playwright") if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(MISSING), reason=f"{', '.join(MISSING)}: not installed (extra docs, dependency group docs-check)"
    ),
]
Look = Callable[[Path], list[str]]
ROOT = Path(__file__).resolve().parents[2]

GOOD = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A page</title>
<link rel="icon" href="data:,"></head><body><h1 id="top">A page</h1>
<a href="#top">up</a> <a href="other.html#there">over</a> {}
<div style="overflow-x: auto"><div style="width: 2000px">A wide thing in a box of its own</div></div></body></html>"""

BAD = {
    "broken link": ('<a href="nowhere.html">x</a>', "link to"),
    "broken link to a heading": ('<a href="other.html#nowhere">x</a>', "link to"),
    "broken link on the page": ('<a href="#nowhere">x</a>', "link to"),
    "missing figure": ('<img src="data:image/png;base64,AAAA" alt="x">', "is not shown"),
    "too wide": ('<div style="width: 500px">x</div>', "wider than a screen of 390"),
    "error": ("<script>throw new Error('oops')</script>", "script: oops"),
    "error in the console": ("<script>console.error('oops')</script>", "console: oops"),
    "another host": ('<script src="http://127.0.0.2:9/x.js"></script>', "asks for"),
    "empty formula": ("<math></math>", "without height"),
}


@pytest.fixture(scope="module")
def look() -> Look:
    """Return what says what is wrong with a folder of pages."""
    from .browser import find_chromium, problems  # needs playwright

    chromium = find_chromium()
    if chromium is None:
        pytest.skip("there is no Chromium on this machine")
    return functools.partial(problems, chromium=chromium)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "html"
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "-q", "docs", str(folder)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def write(folder: Path, extra: str) -> Path:
    (folder / "index.html").write_text(GOOD.format(extra), encoding="utf-8")
    (folder / "other.html").write_text(GOOD.format('<p id="there">Here.</p>'), encoding="utf-8")
    return folder


def test_a_sound_page_has_no_problems(look: Look, tmp_path: Path) -> None:
    assert look(write(tmp_path, "")) == []


@pytest.mark.parametrize("name", BAD)
def test_a_broken_page_is_found(name: str, look: Look, tmp_path: Path) -> None:
    """The negative controls of the check below."""
    extra, words = BAD[name]
    found = look(write(tmp_path, extra))
    assert any(words in line for line in found), found


def test_every_page_can_be_read(site: Path, look: Look) -> None:
    assert look(site) == []


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("index.html", ["Speculative decoding", "First run", "live.svg"]),
        (
            "reading.html",
            ["_modules/minispec/engine/model/forward.html", "_modules/minispec/engine/generation/api.html"],
        ),
        ("theory.html", ["<math", "mfrac"]),
        ("proofs.html", ["Algorithm 1 of Leviathan", "Block verification"]),
        (
            "_generated/lessons/05_rejection_sampling.html",
            [
                "all 7 done",
                "<math",
                "data:image/png",
                'alt="Figure in 5.1',
                'href="../../page/index.html#prompt=Once+upon',
            ],
        ),
        ("_generated/lessons/02_kv_cache.html", ['class="frame"', "slots count", "ArrowRight"]),
        ("_modules/minispec/engine/model/forward.html", ['<span class="k">def</span>']),
        ("_generated/api/minispec.engine.verifiers.html", ["minispec.engine.verifiers.rejection.residual"]),
        ("claims.html", ["_generated/claims/tau.html", "undecided"]),
        ("_generated/claims/tau.html", ["tau.svg", "Coin flips", "The formula"]),
        ("cli.html", ["minispec generate", "--max-tokens", 'id="minispec-assignment-build"']),
        ("assignments.html", ["tutorial"]),
        ("_generated/lessons/a2.html", ["a2.py", "Rejection sampling"]),
    ],
)
def test_a_page_holds_what_it_should(page: str, words: list[str], site: Path) -> None:
    text = (site / page).read_text(encoding="utf-8")
    for word in words:
        assert word in text, word


def test_no_page_of_a_claim_is_long(site: Path) -> None:
    pages = sorted((site / "_generated" / "claims").glob("*.html"))
    assert [path.stem for path in pages] == sorted(path.stem for path in ROOT.glob("docs/claims/*.json"))
    for path in [*pages, site / "claims.html"]:
        text = path.read_text(encoding="utf-8").partition("<article")[2].partition("</article>")[0]
        assert text.count("<h2") <= 1, path.name


def test_every_lesson_shows_what_it_printed(site: Path) -> None:
    lessons = sorted((site / "_generated" / "lessons").glob("[0-9]*.html"))
    assert [path.stem for path in lessons] == sorted(path.stem for path in ROOT.glob("lessons/source/[0-9]*.py"))
    for path in lessons:
        text = path.read_text(encoding="utf-8")
        assert "done. That was lesson" in text, path.name
        assert "✗" not in text, path.name
