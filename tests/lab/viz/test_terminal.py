"""The live view on a terminal: rows end between words, what is struck and what stays, the race, the legend."""

from __future__ import annotations

import io
import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from minispec.lab.viz.film import Film, Scene, Shot
from minispec.lab.viz.page import to_html, to_svg
from minispec.lab.viz.terminal import RaceView, TextView, breaks, legend, styled_text, summary

STORY = "Once upon a time there was an incomprehensibly long word, and a fox who did not mind it at all. "


def parts(line: str, width: int) -> list[str]:
    places = [0, *breaks(line, width), len(line)]
    return [line[a:b] for a, b in itertools.pairwise(places)]


@given(st.text("ab cd日é", max_size=60), st.integers(4, 20))
def test_rows_hold_the_line_and_no_row_is_too_wide(line: str, width: int) -> None:
    rows = parts(line, width)
    assert "".join(rows) == line
    for row in rows:
        assert cell_len(row.strip()) <= width
    for before, after in itertools.pairwise(rows):
        whole_word = re.split(r"\s", before)[-1] + re.split(r"\s", after)[0]
        assert before.endswith(" ") or cell_len(whole_word) > width or cell_len(before + after) > width


@given(st.text("ab c", max_size=50), st.text("ab c", max_size=10), st.integers(4, 12))
def test_more_text_changes_the_last_row_alone(line: str, more: str, width: int) -> None:
    rows, longer = parts(line, width), parts(line + more, width)
    assert longer[: len(rows) - 1] == rows[:-1]


class Screen:
    """What a terminal shows: the few control codes that the view uses, as the terminal takes them."""

    def __init__(self, written: str) -> None:
        self.rows, self.row, self.column = [""], 0, 0
        for text, number, code in re.findall(r"([^\x1b]+)|\x1b\[\??([0-9;:]*)([A-Za-z])", written):
            if text:
                self._write(text)
            elif code == "A":
                self.row -= int(number or 1)
            elif code == "K":
                self.rows[self.row] = ""
            else:
                assert code in "mhl", code

    def _write(self, text: str) -> None:
        for character in text:
            if character == "\n":
                self.row, self.column = self.row + 1, 0
                if self.row == len(self.rows):
                    self.rows.append("")
            elif character == "\r":
                self.column = 0
            else:
                row = self.rows[self.row].ljust(self.column)
                self.rows[self.row] = row[: self.column] + character + row[self.column + 1 :]
                self.column += 1

    @property
    def lines(self) -> list[str]:
        return [row.rstrip() for row in self.rows]


def terminal(width: int = 30, **attributes: object) -> Console:
    return Console(
        file=io.StringIO(),
        force_terminal=True,
        width=width,
        height=20,
        highlight=False,
        legacy_windows=False,
        _environ={"TERM": "xterm-256color", **attributes.pop("environ", {})},
        **attributes,
    )  # type: ignore[arg-type, call-overload]


def written(console: Console) -> str:
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def words(text: str) -> list[Scene]:
    """Scenes that release a text in pieces of three characters: pieces end inside words."""
    return [Scene((Shot(text[i : i + 3], "accepted"),), 0.0, 1) for i in range(0, len(text), 3)]


@pytest.mark.parametrize("width", [20, 33, 80])
def test_no_word_is_broken_while_it_streams(width: int) -> None:
    console = terminal(width)
    view = TextView(console, show_drafts=False)
    view.begin("A prompt. ")
    for scene in words(STORY):
        view.play(scene)
    view.end()
    shown = Screen(written(console)).lines
    assert " ".join(" ".join(shown).split()) == " ".join(("A prompt. " + STORY).split())
    assert all(len(row) <= width for row in shown)


def test_only_the_last_row_is_written_again() -> None:
    """What has scrolled off cannot be redrawn: rows before the last one are done with."""
    console = terminal(20)
    view = TextView(console, show_drafts=False)
    view.begin("")
    for scene in words(STORY * 3):
        view.play(scene)
    view.end()
    ups = [run.count("A") for run in re.findall(r"(?:\x1b\[1A(?:\x1b\[2K)?)+", written(console))]
    assert max(ups, default=0) <= 1


def test_a_slow_scene_shows_drafts_then_strikes_them_and_keeps_the_correction() -> None:
    console, waited = terminal(40), list[float]()
    scene = Scene(
        (Shot("two ", "accepted", 0.1, 0.4), Shot("bad↵", "rejected", 0.2, 0.4), Shot("good", "recovered", 0.5, 0.5)),
        0.6,
        2,
    )
    view = TextView(console, show_drafts=True, sleep=waited.append)
    view.begin("one ")
    view.play(scene)
    view.end()
    assert sum(waited) == pytest.approx(0.6)
    told = written(console)
    frames = [" ".join(Screen(told[: match.end()]).lines) for match in re.finditer("\x1b\\[0m", told)]
    assert any("one two" in frame and "bad" not in frame for frame in frames)  # drafts come one by one
    assert Screen(written(console)).lines[0] == "one two bad↵good"
    assert re.search("\x1b\\[9;[0-9;]*mbad", written(console))  # struck


def test_a_pipe_gets_text_without_control_codes_and_marks() -> None:
    file = io.StringIO()
    view = TextView(Console(file=file, width=20), show_drafts=True)
    view.begin("not shown")
    view.play(Scene((Shot("a ", "accepted"), Shot("x", "rejected"), Shot("↵", "rejected"), Shot("b", "bonus")), 0.0, 2))
    view.end()
    assert file.getvalue() == "a [-x↵-]b\n"


def test_without_colour_strokes_and_underlines_remain() -> None:
    console = terminal(40, no_color=True)
    view = TextView(console, show_drafts=True)
    view.begin("p ")
    view.play(Scene((Shot("no", "rejected"), Shot("yes", "recovered")), 0.0, 1))
    view.end()
    assert "38;" not in written(console)
    assert "\x1b[9mno" in written(console)
    assert "\x1b[4myes" in written(console)


def test_control_characters_of_a_model_are_shown_not_obeyed() -> None:
    assert (
        styled_text([("a\x1b[2Jb\r\x07", "plain")], "either").plain == "a\N{REPLACEMENT CHARACTER}[2Jb" + "\ufffd" * 2
    )


def film(count: int, seconds: float) -> Film:
    """The first token, and so many behind it."""
    shots = tuple(Shot(f"w{i} ", "plain", seconds * i, seconds * i) for i in range(count + 1))
    return Film(shots, tuple((seconds * i, 1 + i) for i in range(count + 1)))


@pytest.mark.parametrize(("width", "beside"), [(100, True), (40, False)])
def test_a_race_stands_side_by_side_where_there_is_room(width: int, beside: bool) -> None:
    console = terminal(width)
    waited: list[float] = []
    view = RaceView(console, {"plain": film(6, 1.0), "speculative": film(6, 0.5)}, "Go: ", 100.0)
    view.play(waited.append)
    assert sum(waited) == pytest.approx(6.0)
    lines = Screen(written(console)).lines
    title = next(line for line in lines if line.startswith("plain"))
    assert ("speculative" in title) == beside
    told = " ".join(lines)
    assert "7 tokens, 6 target passes, 60 ms ✓" in told  # real time: a hundredth of the film's
    assert "7 tokens, 6 target passes, 30 ms ✓" in told


def test_a_race_in_a_pipe_shows_its_end() -> None:
    file = io.StringIO()
    RaceView(Console(file=file, width=100), {"a": film(3, 1.0), "b": film(3, 0.5)}, "", 1.0).play(lambda seconds: None)
    assert file.getvalue().count("4 tokens") == 2
    assert "\x1b" not in file.getvalue()


def test_a_race_in_a_pipe_shows_no_draft_that_was_rejected() -> None:
    """On a terminal it is struck through; in a pipe it would read as text."""
    told = []
    for fate in ("accepted", "rejected"):
        shots = (Shot("kept", "accepted", 0.1, 0.2), Shot(" tried", fate, 0.1, 0.2))
        file = io.StringIO()
        films = {"speculative": Film(shots, ((0.3, 1),))}
        RaceView(Console(file=file, width=100), films, "", 1.0).play(lambda seconds: None)
        told.append("kept tried" in file.getvalue())
        assert "kept" in file.getvalue()
    assert told == [True, False]


def test_the_legend_explains_every_mark_it_shows() -> None:
    sentence = legend("dark", show_drafts=True).plain
    for word in ("accepted: ", "recovered: ", "bonus: ", "rejected: "):
        assert word in sentence
    assert "rejected" not in legend("dark", show_drafts=False).plain


def test_a_narrow_summary_has_no_remarks() -> None:
    facts = [("tokens", "12", "finished: length")]
    assert [len(summary(facts, width).columns) for width in (60, 80)] == [2, 3]


def test_a_page_and_a_picture_say_all_and_load_nothing() -> None:
    shots = (Shot("<b>a", "accepted", 0.1, 0.4), Shot("x", "rejected", 0.2, 0.4), Shot("c", "bonus", 0.5, 0.5))
    facts = [("tokens", "2", "finished: length")]
    page = to_html("a & b", "<p>", {"": Film(shots, ((0.6, 2),))}, facts)
    assert "<b>a" not in page
    assert "&lt;b&gt;a" in page
    assert '<span class="shot rejected" style="--shown:0.200s;--settled:0.400s">x</span>' in page
    assert "finished: length" in page
    picture = to_svg("title", [legend("dark", show_drafts=True), styled_text([("hello", "accepted")], "dark")])
    assert picture == to_svg("title", [legend("dark", show_drafts=True), styled_text([("hello", "accepted")], "dark")])
    for text in (page, picture):
        assert not re.search(r"""(src|href|url)\s*[=(]\s*["']?https?:""", text)
        assert "@font-face" not in text
