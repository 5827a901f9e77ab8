"""The lessons as pages: the solved notebooks, made from their sources and executed by MyST-NB.

They are executed again only if a lesson, its checks, the package or the bundled models have changed: the folder of
the outputs is named by a hash of what they depend on, and MyST-NB's own cache adds the hash of the cells.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes

from _extensions.pages import write_pages
from minispec.course.teaching import notebooks
from minispec.course.teaching.explore import STATIC as STATIC

ROOT = Path(__file__).resolve().parents[2]
_GENERATED = Path("_generated")
_TRY = re.compile(r"\[([^\]]+)\]\(http://127\.0\.0\.1:8000/(#[^)]+)\)")


def find_outputs(docs: Path) -> Path:
    """Return the folder that holds the outputs of the lessons as the checkout now is; forget earlier ones."""
    digest = hashlib.sha256()
    for pattern in ("minispec/**/*.py", "minispec/**/*.jsonl", "lessons/checks/*.py", "weights/*/SHA256SUMS"):
        for path in sorted(ROOT.glob(pattern)):
            digest.update(path.read_bytes())
    everything = docs / _GENERATED / "executed"
    here = everything / digest.hexdigest()[:16]
    for other in everything.glob("*"):
        if other != here:
            shutil.rmtree(other)
    return here


def solve(source: Path) -> str:
    """Return the solved notebook, which says under its title what it is, and links the site's own page to try."""
    book = json.loads(notebooks.notebook(source.read_text(encoding="utf-8"), source.stem, solved=True))
    number = source.stem[:2]
    note = (
        "```{note}\nThis page shows the lesson *solved*, with what it printed when this site was built. Taking it is "
        f"better: `minispec lessons open {number}` copies the notebook with its gaps and opens it.\n```"
    )
    for cell in book["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = _TRY.sub(link_page, cell["source"])
    book["cells"].insert(1, {"cell_type": "markdown", "id": "about-this-page", "metadata": {}, "source": note})
    return json.dumps(book)


def link_page(link: re.Match[str]) -> str:
    """Return the link to what ``try_page`` writes: as HTML, for Sphinx knows no such document."""
    return f'<a href="../../page/index.html{html.escape(link[2])}">{link[1]}</a>'


def move(text: str, children: str) -> str:
    """Return a README of ``lessons`` as a page of the site: the same links, seen from another folder.

    Parameters
    ----------
    text : str
    children : str
        Which pages stand below it in the table of contents, as a glob.
    """
    text = re.sub(r"\]\(notebooks/([^)]+)\)", r"](\1)", text)
    text = re.sub(r"\]\((?:assignments/)?(a\d)/HANDOUT\.md\)", r"](\1.md)", text)
    text = re.sub(r"\]\(assignments/README\.md\)", "](assignments.md)", text)
    text = re.sub(r"\]\((?:\.\./)+docs/([^)]+)\)", r"](/\1)", text)
    return f"{text}\n```{{toctree}}\n:hidden:\n:glob:\n\n{children}\n```\n"


def write(app: Any) -> None:
    """Write the pages of the lessons, of the handouts, and those that list them."""
    lessons = ROOT / "lessons"
    pages = {f"{path.stem}.ipynb": solve(path) for path in lessons.glob("source/[0-9]*.py")}
    for handout in lessons.glob("assignments/*/HANDOUT.md"):
        pages[f"{handout.parent.name}.md"] = handout.read_text(encoding="utf-8")
    pages["index.md"] = move((lessons / "README.md").read_text(encoding="utf-8"), "[0-9]*")
    pages["assignments.md"] = move((lessons / "assignments" / "README.md").read_text(encoding="utf-8"), "a[0-9]")
    write_pages(Path(app.srcdir) / _GENERATED / "lessons", pages)


def describe(_app: Any, doctree: nodes.document) -> None:
    """Say where each figure that a cell drew stands, for those who cannot see it."""
    for image in doctree.findall(nodes.image):
        section = image.parent
        while section is not None and not isinstance(section, nodes.section):
            section = section.parent
        if "alt" not in image and section is not None:
            image["alt"] = f"Figure in {section[0].astext()}"


def setup(app: Any) -> dict[str, bool]:
    """Write the pages before Sphinx looks for them."""
    app.connect("builder-inited", write)
    app.connect("doctree-read", describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
