"""What those see and say who are shown drafts, on runs small enough to follow by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.engine.records import Source, Step, Verdict
from minispec.lab.ledger.claims.retraction import Showing, colouring, flips, renames, say, watch

LETTERS = "ab .(\n\"'"


def step(drafted: str, kept: int, own: str) -> Step:
    """A step whose tokens are characters."""
    source: Source = "recovered" if kept < len(drafted) else "bonus"
    tokens = tuple(map(ord, drafted[:kept] + own))
    sources: tuple[Source, ...] = (*["accepted"] * kept, source)  # type: ignore[assignment]  # literals
    return Step(0, 0, tuple(map(ord, drafted)), Verdict(kept, ord(own), source), tokens, sources)


def text_of(tokens: Sequence[int]) -> str:
    return "".join(map(chr, tokens))


def run(prompt: str, *steps: Step, c: float = 0.1) -> list[Showing]:
    return list(watch(prompt, steps, text_of, c))


def test_the_clock() -> None:
    first, second = run(">", step("abc", 1, "X"), step("", 0, "y"), c=0.25)
    assert first == Showing(">", "abc", (0.25, 0.5, 0.75), 1, 1.75, ">aX")
    assert second == Showing(">aX", "", (), 0, 2.75, ">aXy")
    assert first.taken_back == 2
    assert first.earlier == 1.5, "shown at 0.25, sure at 1.75"
    assert second.earlier == 0.0


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("f(x)[1]", ("", "")),
        ("f((", ("", "((")),
        ("'it\\'s", ("'", "")),
        ("'a\nb", ("", "")),
        ('"""a\n"b"\n', ('"""', "")),
        ('"""a"""(', ("", "(")),
        ("# don't (\nx", ("", "")),
        ("x)", ("", "")),
        ("'#'(", ("", "(")),
    ],
)
def test_colouring(text: str, state: tuple[str, str]) -> None:
    assert colouring(text) == state


@pytest.mark.parametrize(
    ("drafted", "kept", "flipped", "renamed"),
    [
        ("(a)", 3, False, False),
        ("(a)", 2, True, False),  # the bracket was closed, and is open again
        ("(a)", 0, False, True),  # opened and closed: nothing else looks different
        ('"b', 0, True, False),
        ("ab ", 1, False, True),
        ("a .", 1, False, False),
        ("a .", 2, False, False),
    ],
)
def test_an_editor(drafted: str, kept: int, flipped: bool, renamed: bool) -> None:
    (showing,) = run("x = ", step(drafted, kept, " "))
    assert (flips(showing), renames(showing)) == (flipped, renamed)


def test_a_voice_that_cannot_wait_says_what_is_taken_back() -> None:
    shown = run("", step("no. ", 1, "o"), step("t so", 4, " "))
    assert shown[-1].after == "not so "
    assert say(shown, wait=0.0, pace=0.0) == (3, 1), "no., not, so"
    assert say(shown, wait=1.3, pace=0.0) == (2, 0), "the verdict falls 1.0 after the space is shown"


def test_a_word_begun_is_said_and_a_slow_voice_stays_behind() -> None:
    """While it says the first word the wrong one is shown and taken back."""
    shown = run("", step("yes ", 4, "."), step("b a ", 0, " "), step("so o", 4, " "))
    assert say(shown, wait=0.0, pace=0.0) == (6, 2), "yes, .b, a, then what stands: ., so, o"
    assert say(shown, wait=0.0, pace=2.0) == (4, 0)


def drawn_steps() -> st.SearchStrategy[list[Step]]:
    def cut(drafted: str, kept: int, own: str) -> Step:
        return step(drafted, min(kept, len(drafted)), own)

    return st.lists(
        st.builds(cut, st.text(LETTERS, max_size=5), st.integers(0, 5), st.sampled_from(LETTERS)), min_size=1
    )


@given(drawn_steps(), st.floats(0.0, 2.0), st.floats(0.0, 1.0))
def test_every_word_is_said_and_who_waits_for_the_verdict_says_no_other(
    steps: list[Step], wait: float, pace: float
) -> None:
    shown = run("> ", *steps)
    words = shown[-1].after[2:].split() if shown[-1].after[-1].isspace() else shown[-1].after[2:].split()[:-1]
    said, wrong = say(shown, wait, pace)
    assert said - wrong == len(words)
    assert say(shown, 1.5, pace) == (len(words), 0), "1 + 5c"


@given(drawn_steps())
def test_what_is_kept_costs_an_editor_nothing(steps: list[Step]) -> None:
    for showing in run("x", *steps):
        assert not (showing.taken_back == 0 and (flips(showing) or renames(showing)))
        assert showing.after.startswith(showing.before + showing.drafted[: showing.kept])
