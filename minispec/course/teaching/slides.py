"""A deck of slides per lesson: its headings, questions and figures, with its prose as the speaker's notes.

The lesson is executed, solved, in this process's environment; nbconvert makes the deck (reveal.js). So a deck shows
what the lesson shows, on the machine where it is made.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

from minispec.course.teaching import notebooks
from minispec.course.teaching.explore import STATIC
from minispec.errors import missing

_LOUD = re.compile(r"\*\*(?:Predict|Why|Look|Question)\.?\*\*")
_WRITTEN = ("lesson.check", "lesson.hint", "lesson.solution", "lesson.working")  # what students do at their desks
_MAX_WORDS = 45  # of a paragraph on a slide; a longer one is cut at the end of a sentence
_ALT = "A figure of the lesson, described in the notes of its slide"
_NO_ALT = "No description has been provided for this image"  # nbconvert reads none from a notebook
_SHOWN = ("image/svg+xml", "image/png", "text/html")


def make_slides(source: Path) -> str:
    """Return the deck of one lesson as one HTML page.

    Parameters
    ----------
    source : Path
        The lesson's source, in a checkout.

    Raises
    ------
    MissingDependencyError
        If nbconvert, nbclient or jupytext is not installed.
    """
    try:
        nbclient: Any = importlib.import_module("nbclient")
        nbconvert: Any = importlib.import_module("nbconvert")
        nbformat: Any = importlib.import_module("nbformat")
    except ImportError:
        raise missing("nbconvert", "slides need", "course") from None
    text = notebooks.notebook(source.read_text(encoding="utf-8"), source.stem, solved=True)
    book = nbformat.from_dict(json.loads(text))
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {STATIC: "1"}):
        nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": folder}}).execute()
    book.cells = arrange(book.cells)
    exporter = nbconvert.SlidesExporter(exclude_input=True, exclude_input_prompt=True, exclude_output_prompt=True)
    exporter.log.setLevel("ERROR")  # it would warn of images without a description, which they get below
    page: str = exporter.from_notebook_node(book)[0]
    return page.replace(f'alt="{_NO_ALT}"', f'alt="{_ALT}"')


def arrange(cells: list[Any]) -> list[Any]:
    """Return the cells of a deck: headings and questions, a slide below for each figure, and all prose as notes."""
    made: list[Any] = []
    kind = ""  # of the last slide that shows something
    for cell in cells:
        if cell.cell_type == "code":
            figures = _keep_figures(cell)
            if figures:
                below = "subslide" if "text/html" not in figures and kind != "subslide" else "-"
                made.append(_as(cell, "fragment" if "text/html" in figures else below))
                kind = "subslide" if "text/html" not in figures else kind
            continue
        heading, shown = _choose(cell.source.split("\n\n"))
        if heading.lstrip("# ").startswith("References"):
            break
        if heading or shown:
            kind = "slide" if heading else "subslide" if shown[0].startswith("**Look") else "fragment"
            slide = type(cell)(cell)
            slide.source = "\n\n".join(filter(None, [heading, *shown]))
            made.append(_as(slide, kind))
        notes = type(cell)(cell)
        notes.id = f"{cell.id[:58]}-notes"
        made.append(_as(notes, "notes"))
    return made


def _choose(paragraphs: list[str]) -> tuple[str, list[str]]:
    """Return a cell's heading, if it has one, and what of its text stands on the slide."""
    heading = next((each for each in paragraphs if each.startswith("#")), "")
    shown = [shorten(each) for each in paragraphs if _LOUD.match(each) or each.startswith("$$")]
    if heading and not shown:
        shown = [shorten(each) for each in paragraphs if not each.startswith(("#", "*"))][:1]
    return heading, shown


def _keep_figures(cell: Any) -> list[str]:
    """Leave in a code cell the outputs that a room looks at, and return their kinds."""
    if cell.source.startswith(_WRITTEN):
        return []
    cell.outputs = [output for output in cell.outputs if any(kind in output.get("data", {}) for kind in _SHOWN)]
    return [kind for output in cell.outputs for kind in _SHOWN if kind in output["data"]]


def shorten(paragraph: str) -> str:
    """Return the first sentences of a paragraph, as many as fit a slide, at least one.

    >>> shorten("One. " + "word " * 60)
    'One.'
    """
    sentences = re.split(r"(?<=[.?!:])\s+", paragraph)
    kept = sentences[0]
    for sentence in sentences[1:]:
        if len(kept.split()) + len(sentence.split()) > _MAX_WORDS:
            break
        kept += f" {sentence}"
    return kept


def _as(cell: Any, kind: str) -> Any:
    cell.metadata = {**cell.metadata, "slideshow": {"slide_type": kind}}
    return cell
