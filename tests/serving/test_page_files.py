"""The page as files: what a browser is given, whatever it then does."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import minispec.serving
from minispec.engine.colours import HUES, INK, NIGHT, PAPER, SHADES, contrast
from minispec.engine.markup import LINES, MEANINGS
from tests.serving.make_page import colour_sheet

PAGE = Path(minispec.serving.__file__).parent / "page"
SCRIPTS = sorted(PAGE.glob("*.js"))


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def index() -> Reader:
    reader = Reader()
    reader.feed((PAGE / "index.html").read_text(encoding="utf-8"))
    return reader


def test_the_colours_are_those_of_the_one_table() -> None:
    assert (PAGE / "colours.css").read_text(encoding="utf-8") == colour_sheet(), "python -m tests.serving.make_page"


def test_no_colour_is_written_anywhere_else() -> None:
    for path in (PAGE / "style.css", PAGE / "index.html", *SCRIPTS):
        found = re.findall(r"#[0-9a-f]{3,8}\b(?![\w-])|\brgba?\(|\bhsla?\(", path.read_text(encoding="utf-8"))
        assert found == [], path.name


def test_every_fate_can_be_read_and_is_told_apart_without_colour() -> None:
    for fate, hue in HUES.items():
        assert contrast(SHADES[hue].light, PAPER) >= 4.5, fate
        assert contrast(SHADES[hue].dark, NIGHT) >= 4.5, fate
        assert fate in LINES or fate == "accepted", "text without a mark is what was drafted and kept"
    assert contrast(INK.dark, NIGHT) >= 4.5


def test_the_legend_says_what_the_table_of_fates_says(index: Reader) -> None:
    for fate, meaning in MEANINGS.items():
        assert ("span", {"class": fate}) in index.tags
        assert f"{fate} {meaning}" in " ".join(index.text.split()), fate


def test_nothing_is_asked_of_another_host() -> None:
    for path in PAGE.iterdir():
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|//[\w-]+\.\w", text), path.name


def test_every_file_is_there_and_used(index: Reader) -> None:
    named = {attrs.get("href") or attrs.get("src") for tag, attrs in index.tags if tag in ("link", "script")}
    for path in SCRIPTS:
        named |= set(re.findall(r'from "\./([\w.]+)"', path.read_text(encoding="utf-8")))
    assert {path.name for path in PAGE.iterdir()} == {*named, "index.html"}


def test_a_strict_policy_is_enough(index: Reader) -> None:
    """No script, style or handler in the page itself; scripts make no markup of text."""
    for tag, attrs in index.tags:
        assert tag != "style"
        assert tag != "script" or attrs.get("src")
        assert not [name for name in attrs if name == "style" or name.startswith("on")]
    for path in SCRIPTS:
        found = re.findall(
            r"innerHTML|outerHTML|insertAdjacentHTML|\beval\(|new Function", path.read_text(encoding="utf-8")
        )
        assert found == [], path.name


def test_every_control_has_a_name(index: Reader) -> None:
    labelled = {attrs["for"] for tag, attrs in index.tags if tag == "label"}
    controls = {attrs["id"] for tag, attrs in index.tags if tag in ("input", "select", "textarea")}
    assert controls == labelled


def test_every_id_that_scripts_ask_for_is_there(index: Reader) -> None:
    ids = {attrs["id"] for _, attrs in index.tags if "id" in attrs}
    for path in SCRIPTS:
        asked = set(re.findall(r'\bfield\("([\w-]+)"\)', path.read_text(encoding="utf-8")))
        assert asked <= ids, path.name
