"""Colours that people can read: contrasts computed as WCAG 2 defines them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import minispec
from minispec.engine import colours
from minispec.engine import markup as html
from minispec.engine.colours import BLACK, HUES, INK, NIGHT, PAPER, SHADES, WHITE, contrast

ENOUGH = 4.5
PACKAGE = Path(minispec.__file__).parent


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast(BLACK, WHITE) == contrast(WHITE, BLACK) == 21.0
    assert round(contrast("#777777", WHITE), 2) == 4.48  # the grey that everyone quotes as just too light
    assert round(contrast("#ff0000", WHITE), 2) == 4.0


@pytest.mark.parametrize("name", SHADES)
def test_text_stands_out_from_what_it_is_on(name: str) -> None:
    shade = SHADES[name]
    assert contrast(shade.light, PAPER) >= ENOUGH
    assert contrast(shade.dark, NIGHT) >= ENOUGH
    assert min(contrast(shade.either, BLACK), contrast(shade.either, WHITE)) >= ENOUGH


def test_ink_stands_out_and_every_hue_has_shades() -> None:
    assert contrast(INK.light, PAPER) >= 7
    assert contrast(INK.dark, NIGHT) >= 7
    assert set(HUES.values()) <= set(SHADES)
    told_apart = [SHADES[HUES[fate]].either for fate in ("accepted", "recovered", "bonus", "rejected")]
    assert len(set(told_apart)) == 4


def test_text_of_plots_stands_out() -> None:
    from minispec.lab.viz.plots import style

    for name in ("ink", "grey"):
        assert contrast(style.COLOURS[name], WHITE) >= ENOUGH
    for colour in style.SERIES:
        assert contrast(style.on(colour), colour) >= ENOUGH, colour


def test_what_a_notebook_shows_brings_its_own_paper() -> None:
    shown = html.generation_html("a", [("b", "accepted"), ("c", "recovered"), ("d", "bonus"), ("e", "plain")], ["f"])
    assert shown.startswith(f'<div style="background:{PAPER};color:{INK.light}')
    for colour in re.findall(r"[^-]color:(#\w{6})", shown):
        assert contrast(colour, PAPER) >= ENOUGH, colour


def test_no_colour_and_no_markup_is_written_elsewhere() -> None:
    """One table: a colour, a style or an element in another place of the package would be a second one."""
    colour, markup = re.compile(r"#[0-9a-fA-F]{6}\b"), re.compile(r"<(div|span|figure|style)\b")
    found = []
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path != Path(colours.__file__) and colour.search(text):
            found.append(f"a colour in {path.relative_to(PACKAGE)}")
        if "viz" not in path.parts and path.name != "markup.py" and markup.search(text):
            found.append(f"markup in {path.relative_to(PACKAGE)}")
    assert found == []
