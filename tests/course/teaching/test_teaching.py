"""A lesson's answers are judged rightly, in words, and never raise what a learner's function raises."""

from __future__ import annotations

import errno
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.course.teaching import Lesson, Mistake, Prediction, Reply, Step, Times, difference, explore, time_all
from minispec.course.teaching import notebooks as books
from minispec.course.teaching.explore import STATIC
from minispec.errors import InvariantError, OptionError


def residual(p: Any, q: Any) -> Any:
    rest = np.maximum(np.asarray(p) - np.asarray(q), 0)
    return rest / rest.sum()


def unnormalised(p: Any, q: Any) -> Any:
    return np.maximum(np.asarray(p) - np.asarray(q), 0)


CASES = [(np.array([0.5, 0.5]), np.array([0.25, 0.75])), (np.array([0.7, 0.2, 0.1]), np.array([0.2, 0.3, 0.5]))]
STEP = Step(
    "residual", CASES, residual, [Mistake("It does not sum to 1: divide by what is left.", unnormalised)], ["a", "b"]
)


def test_right_answers_pass_whatever_they_return_it_in() -> None:
    assert STEP.judge(residual)[0] == "right"
    assert STEP.judge(lambda p, q: residual(p, q).astype(np.float32))[0] == "right"
    yes = Step("yes", [(1,), (2,)], lambda n: n == 1)
    assert yes.judge(lambda n: int(n == 1))[0] == "right"
    assert yes.judge(lambda n: np.bool_(n == 1))[0] == "right"


def test_a_list_in_place_of_an_array_is_said_before_the_lesson_fails_on_it() -> None:
    kind, message = STEP.judge(lambda p, q: residual(p, q).tolist())
    assert kind == "wrong"
    assert message.startswith("it is a list, expected an array")


def test_the_type_of_number_counts_where_a_step_says_so() -> None:
    step = Step("rounded", [(np.array([1.4]),)], lambda x: np.rint(x).astype(np.int8), same_dtype=True)
    assert step.judge(step.reference)[0] == "right"
    assert step.judge(lambda x: np.rint(x))[1].startswith("it holds float64, expected int8")


def test_a_difference_comes_first_and_its_case_second() -> None:
    _, message = STEP.judge(lambda p, q: np.abs(p - q))
    difference_line, case_line = message.splitlines()
    assert difference_line == "element [0] is 0.25, expected 1 (2 of 2 elements differ)"
    assert case_line == "in `residual([0.5, 0.5], [0.25, 0.75])`"


def by_helper(p: Any, q: Any) -> Any:
    return np.concatenate([p, 1])  # raises inside NumPy


def test_an_error_shows_the_learners_line_and_not_numpys() -> None:
    _, message = STEP.judge(by_helper)
    assert message.startswith("ValueError")
    assert "`return np.concatenate([p, 1])  # raises inside NumPy`" in message
    assert "your line" not in STEP.judge(lambda p: p)[1]  # called wrongly: no line of theirs was reached


def test_a_known_mistake_is_named_with_the_case_it_fails_on() -> None:
    kind, message = STEP.judge(unnormalised)
    assert kind == "wrong"
    assert message.startswith("It does not sum to 1")
    assert "\nelement [0] is 0.25, expected 1" in message


def test_another_mistake_is_not_taken_for_a_known_one() -> None:
    kind, message = STEP.judge(lambda p, q: np.abs(p - q))
    assert kind == "wrong"
    assert "does not sum" not in message


def missing(p: Any, q: Any) -> Any:
    raise NotImplementedError("write this")


def crash(p: Any, q: Any) -> Any:
    return p[99]


def in_place(p: Any, q: Any) -> Any:
    p -= q
    np.maximum(p, 0, out=p)
    p /= p.sum()
    return p


@pytest.mark.parametrize(
    ("attempt", "kind", "words"),
    [
        (missing, "todo", "not written yet"),
        (crash, "wrong", "IndexError"),
        (in_place, "wrong", "changes its own argument"),
        (lambda p, q: None, "wrong", "is a return missing"),
        (lambda p, q: "x", "wrong", "shape"),
        (lambda p, q: np.array(["x"] * len(p)), "wrong", "expected"),
        (lambda p, q: np.array([None] * len(p)), "wrong", "expected"),
        (lambda p: p, "wrong", "TypeError"),
        (residual(*CASES[0]), "wrong", "no function"),
    ],
)
def test_what_goes_wrong_is_said_and_not_raised(attempt: Any, kind: str, words: str) -> None:
    found, message = STEP.judge(attempt)
    assert found == kind
    assert words in message


values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False, width=32) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)


@given(values)
def test_a_value_does_not_differ_from_itself(value: Any) -> None:
    assert difference(value, value) is None


@given(values, values)
def test_different_values_differ(one: Any, other: Any) -> None:
    """Python's equality, which here is right up to the tolerance and to ``True == 1``, is the referee."""
    if difference(one, other) is None:
        assert json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True) or np.allclose(one, other)


@pytest.mark.parametrize(
    ("found", "expected", "words"),
    [
        (np.zeros(3), np.zeros((3, 1)), "shape is (3,), expected (3, 1)"),
        (np.array([1.0, 2.0]), np.array([1.0, 2.1]), "element [1] is 2, expected 2.1 (1 of 2 elements differ)"),
        ([1, 2], [1, 2, 3], "2 items, expected 3"),
        ({"a": 1}, {"a": 1, "b": 2}, "lacks the key 'b'"),
        ({"a": 1, "c": 2}, {"a": 1}, "nobody asked for"),
        (True, 1, "expected a number"),
        (2, True, "expected True"),
        (0, True, "expected True"),
        ((np.zeros(2), 1), (np.zeros(3), 1), "item 0: its shape is (2,), expected (3,)"),
        (((1, 2), 3), ((1, 3), 3), "item 0: item 1 is 2"),
        (float("nan"), 1.0, "is nan, expected 1"),
        ([[1, 2], [3, 4]], [[1, 2], [3, 5]], "is 4, expected 5"),
    ],
)
def test_differences_read_well(found: Any, expected: Any, words: str) -> None:
    message = difference(found, expected)
    assert message is not None
    assert words in message


HALF = Prediction(
    "acceptance", 0.6, "It is the sum of min(p, q).", [Reply(lambda a: a > 1, "A probability is at most 1.")], 0.02
)


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (..., "todo", "dots"),
        (0.6, "right", "Yes"),
        (0.605, "right", "min"),
        (0.63, "wrong", "Not this time"),
        (2, "wrong", "at most 1"),
        ("lots", "wrong", "Not this time"),
    ],
)
def test_predictions(answer: Any, kind: str, words: str) -> None:
    found, message = HALF.judge(answer)
    assert found == kind
    assert words in message


WORD = Prediction(
    "order",
    "k outside",
    "Memory lies in rows.",
    [Reply("n outside", "Down columns.")],
    choices=("k outside", "n outside"),
)


@pytest.mark.parametrize(
    ("question", "answer", "kind", "words"),
    [
        (WORD, " K  Outside. ", "right", "rows"),
        (WORD, "N OUTSIDE", "wrong", "Down columns."),
        (WORD, "both", "todo", "one of 'k outside', 'n outside'"),
        (HALF, "60%", "right", "min"),
        (HALF, "0.6", "right", "min"),
        (HALF, "3", "wrong", "at most 1"),
        (Prediction("shape", (10, 128), "Rows."), "(10, 128)", "right", "Rows."),
        (Prediction("equal", False, "Rounding."), "false", "right", "Rounding."),
    ],
)
def test_a_prediction_is_taken_as_it_was_meant(question: Prediction, answer: Any, kind: str, words: str) -> None:
    found, message = question.judge(answer)
    assert found == kind
    assert words in message


def lesson() -> Lesson:
    files: Any = SimpleNamespace(number="99", solution=lambda name: f"def {name}(): ...")
    return Lesson(files, {"acceptance": HALF}, {"residual": STEP})


def test_the_solution_comes_after_an_attempt() -> None:
    mine = lesson()
    assert "of your own first" in repr(mine.solution("residual"))
    mine.check("residual", missing)  # nothing tried yet
    assert "of your own first" in repr(mine.solution("residual"))
    mine.check("residual", unnormalised)
    assert "def residual" in repr(mine.solution("residual"))
    assert "def residual" in repr(lesson().solution("residual", force=True))
    assert "<pre>def residual(): ...</pre>" in lesson().solution("residual", force=True)._repr_html_()


def test_hints_come_one_by_one_and_the_last_stays() -> None:
    mine = lesson()
    assert [repr(mine.hint("residual"))[-1] for _ in range(3)] == ["a", "b", "b"]


def test_who_is_stuck_is_told_what_to_run() -> None:
    """A hint while there are any, then our version; nobody sees one by running all cells."""
    mine = lesson()
    told = [repr(mine.check("residual", attempt)).splitlines()[-1] for attempt in (missing, unnormalised)]
    assert told == ["Stuck? `lesson.hint('residual')` prints a hint."] * 2
    mine.hint("residual"), mine.hint("residual")
    assert repr(mine.check("residual", crash)).endswith("`lesson.solution('residual')` shows our version.")
    assert "Stuck" not in repr(mine.check("residual", lambda p, q: residual(p, q)))


def test_a_lesson_says_how_it_is_used() -> None:
    said = repr(lesson())
    assert all(f"lesson.{name}(" in said for name in ("predict", "check", "hint", "solution", "working"))
    assert max(len(line) for line in said.splitlines()) <= 88  # the column of the site


def test_progress_counts_what_is_right() -> None:
    mine = lesson()
    mine.predict("acceptance", 0.1)
    assert "0 of 2" in repr(mine.progress())
    mine.predict("acceptance", 0.6)
    assert "1 of 2 done; left: residual" in repr(mine.progress())
    mine.check("residual", lambda p, q: residual(p, q))
    assert mine.progress()


def test_ours_in_place_of_theirs_is_not_counted_as_theirs() -> None:
    """Running a check again below ``working`` must not praise a stub."""
    mine = lesson()
    taken = mine.working("residual", missing)
    outcome = mine.check("residual", taken)
    assert not outcome
    assert "our `residual`" in repr(outcome)
    assert "0 of 2" in repr(mine.progress())


def test_the_rest_of_a_lesson_runs_with_ours_while_theirs_is_wrong() -> None:
    mine = lesson()
    assert mine.working("residual", unnormalised) is residual
    right = lambda p, q: residual(p, q)  # noqa: E731
    assert mine.working("residual", right) is right


@pytest.mark.parametrize(
    ("seconds", "possible", "words"),
    [
        ([1.0, 1.1, 1.2, 1.1], True, "twice as fast"),
        ([1.0, 1.0, 1.0, 1.0, 9.0], True, "twice as fast"),  # one outlier, and the middle half is quiet
        ([1.0, 1.0, 2.0, 2.0], True, "Busy machine, run again: the times of `b` vary by 67%"),
        ([1.0, 1.1, 1.2, 1.1], False, "these figures cannot be right together"),
    ],
)
def test_a_busy_machine_concludes_nothing(seconds: list[float], possible: bool, words: str) -> None:
    outcome = Times({"a": [1.0] * 4, "b": seconds}).conclude("twice as fast", possible=possible)
    assert words in repr(outcome)
    assert bool(outcome) == (words == "twice as fast")
    assert ("twice as fast" in repr(outcome)) == bool(outcome)


def test_candidates_take_turns_and_their_first_call_is_left_out() -> None:
    called: list[str] = []
    times = time_all({name: (lambda name=name: called.append(name)) for name in "ab"}, rounds=5)
    assert called[:2] == ["a", "b"]
    assert [len(times.seconds[name]) for name in "ab"] == [5, 5]
    assert all({*called[i : i + 2]} == {"a", "b"} for i in range(2, 12, 2))


def test_a_misspelt_step_is_said() -> None:
    with pytest.raises(OptionError, match="it has residual"):
        lesson().check("residaul", residual)


def test_text_is_escaped_in_html() -> None:
    found = lesson().check("residual", lambda p, q: "<b>")
    assert "<b>&" not in found._repr_html_()
    assert "✗" in found._repr_html_()


SOURCE = '''# %% [markdown]
# # A lesson

# %%
lesson.predict("a", 0.6)

# %%
def f(x):
    """Doc."""
    # BEGIN SOLUTION
    y = 2 * x
    return y
    # END SOLUTION

# %%
f(3)
'''


def cells(solved: bool) -> list[str]:
    book = json.loads(books.notebook(SOURCE, "99_toy", solved=solved))
    assert all(not cell.get("outputs") for cell in book["cells"])
    return [cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"]) for cell in book["cells"]]


def test_the_two_notebooks_differ_in_solutions_and_answers_only() -> None:
    pytest.importorskip("jupytext")
    learner, solved = cells(solved=False), cells(solved=True)
    assert [a == b for a, b in zip(learner, solved, strict=True)] == [True, False, False, True]
    assert learner[1] == 'lesson.predict("a", ...)'
    assert learner[2].endswith('"""Doc."""\n    raise NotImplementedError("write this")')
    assert solved[2].endswith("y = 2 * x\n    return y")
    assert "SOLUTION" not in "".join(learner + solved)


def test_the_same_source_gives_the_same_bytes() -> None:
    pytest.importorskip("jupytext")
    assert books.notebook(SOURCE, "99_toy", solved=False) == books.notebook(SOURCE, "99_toy", solved=False)


def test_solutions_are_found_by_function() -> None:
    assert books.solutions(SOURCE, "toy") == {"f": 'def f(x):\n    """Doc."""\n    y = 2 * x\n    return y'}


@pytest.mark.parametrize(
    "text", ["# BEGIN SOLUTION\n# BEGIN SOLUTION\n# END SOLUTION", "# END SOLUTION", "# BEGIN SOLUTION\nx"]
)
def test_broken_markers_are_refused(text: str) -> None:
    with pytest.raises(InvariantError):
        books.learner(text, "toy")


def test_without_a_live_kernel_a_slider_becomes_small_multiples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STATIC, "1")
    drawn: list[tuple[int, str]] = []

    class Figure:
        def get_size_inches(self) -> tuple[float, float]:
            return 7.2, 3.6

        def set_size_inches(self, width: float, height: float) -> None:
            assert width == 2 * height

        def savefig(self, data: Any, **options: Any) -> None:
            data.write(b"png")

    def plot(gamma: int, kind: str) -> Figure:
        drawn.append((gamma, kind))
        return Figure()

    shown = explore(plot, gamma=range(1, 11), kind=("a", "b", "c"))
    assert drawn == [(1, "b"), (4, "b"), (7, "b"), (10, "b")]
    assert shown._repr_html_().count("<img") == 4


def test_without_a_live_frontend_a_text_and_the_middle_values_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STATIC, "1")
    shown = explore(lambda prompt, gamma: (prompt, gamma), prompt="Once upon", gamma=[1, 2, 4])
    assert shown == ("Once upon", 2)


def test_copies_are_never_written_over(tmp_path: Path) -> None:
    from minispec.cli.lessons import _copy
    from minispec.course.teaching.find import lessons

    number = lessons()[0].number
    ((path, is_new),) = _copy((number,), tmp_path / "mine")
    assert is_new
    path.write_text("my work")
    assert _copy((number,), tmp_path / "mine") == [(path, False)]
    assert path.read_text() == "my work"


def test_half_a_copy_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from minispec.cli.lessons import _copy
    from minispec.course.teaching.find import lessons
    from minispec.errors import OutputError

    def fill_up(source: Path, place: Path) -> None:
        place.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    files = lessons()[0]
    with monkeypatch.context() as patch:
        patch.setattr("shutil.copyfile", fill_up)
        with pytest.raises(OutputError, match=r"No space left on device\). Try --to"):
            _copy((files.number,), tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert _copy((files.number,), tmp_path) == [(tmp_path / files.notebook.name, True)]


def test_whoever_ends_us_ends_what_was_started() -> None:
    import signal
    import threading

    from minispec.cli.lessons import run_until_told

    before = signal.getsignal(signal.SIGTERM)
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGTERM)).start()
    assert run_until_told([sys.executable, "-c", "import time; time.sleep(60)"]) == -signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before


def test_jupyter_starts_for_root_and_without_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    from minispec.cli.lessons import jupyter_command

    monkeypatch.setattr("os.geteuid", lambda: 0, raising=False)
    command = jupyter_command(Path("mine/a 1.ipynb"), browser=False)
    assert command[-3:] == ["--no-browser", "--LabApp.default_url=/lab/tree/a%201.ipynb", "--allow-root"]
    assert command[3] == "mine"  # the server's root, so that the address that is printed opens
    monkeypatch.setattr("os.geteuid", lambda: 1000, raising=False)
    assert jupyter_command(Path("mine"), browser=True)[-1] == "mine"
