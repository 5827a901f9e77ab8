"""One learner's way through one lesson: what was predicted, tried and solved so far."""

from __future__ import annotations

import html
import platform
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import minispec
from minispec.course.teaching.find import Files, find
from minispec.course.teaching.steps import RIGHT, TODO, Prediction, Step
from minispec.engine.markup import box
from minispec.errors import OptionError

_SIGNS = {"todo": "▢", "wrong": "✗", "right": "✓"}
_CODE = re.compile(r"`([^`\n]+)`")
_USAGE = """\
lesson.predict("name", ...)      put your answer in place of the dots, then run the cell
lesson.check("name", name)       tests the function that you wrote, and says what is wrong with it
lesson.hint("name")              prints one hint; run it again for the next one
lesson.solution("name")          shows our function, after you have checked one of yours
name = lesson.working("name", name)
                                 keeps your function if it is right, else takes ours, so that all cells run"""


@dataclass(frozen=True)
class Outcome:
    """What a notebook shows after a prediction or a check; ``bool`` tells whether it was right."""

    kind: str
    message: str
    code: str = ""

    def __bool__(self) -> bool:
        return self.kind == RIGHT

    def __repr__(self) -> str:
        return f"{_SIGNS[self.kind]} {self.message}" + (f"\n{self.code}" if self.code else "")

    def _repr_html_(self) -> str:
        text = _CODE.sub(r"<code>\1</code>", html.escape(self.message)).replace("\n", "<br>")
        return box(self.kind, _SIGNS[self.kind], text, self.code)


@dataclass
class Lesson:
    """Checks answers, counts attempts, gives hints one by one and the solution after an attempt.

    Made by :func:`begin`.
    """

    files: Files
    predictions: dict[str, Prediction]
    steps: dict[str, Step]
    _attempts: dict[str, int] = field(default_factory=dict)
    _solved: set[str] = field(default_factory=set)
    _hints: dict[str, int] = field(default_factory=dict)

    def predict(self, name: str, answer: Any) -> Outcome:
        """Judge a prediction; ``...`` means that there is none yet.

        Raises
        ------
        OptionError
            If the lesson asks no such question.
        """
        return self._record(name, *self._find(name, self.predictions).judge(answer))

    def check(self, name: str, attempt: Callable[..., Any]) -> Outcome:
        """Judge a function that the learner wrote, and say what is wrong with it.

        Raises
        ------
        OptionError
            If the lesson has no such step.
        """
        step = self._find(name, self.steps)
        if attempt is step.reference:  # lesson.working has put ours in place of theirs
            return Outcome(TODO, f"this is our `{name}`, from `lesson.working`; run the cell that defines yours first.")
        kind, message = step.judge(attempt)
        if kind != TODO:
            self._attempts[name] = self._attempts.get(name, 0) + 1
        return self._record(name, kind, message if kind == RIGHT else f"{message}\n{self._offer_help(step)}")

    def working(self, name: str, attempt: Callable[..., Any]) -> Callable[..., Any]:
        """Return the attempt if it passes its check, else ours, so that the rest of the lesson runs either way."""
        step = self._find(name, self.steps)
        return attempt if step.judge(attempt)[0] == RIGHT else step.reference

    def hint(self, name: str) -> Outcome:
        """Give the next hint; the last one again when there is no other."""
        hints = self._find(name, self.steps).hints
        if not hints:
            return Outcome(TODO, f"there are no hints for `{name}`; its docstring says all")
        number = min(self._hints.get(name, 0), len(hints) - 1)
        self._hints[name] = number + 1
        return Outcome(TODO, f"hint {number + 1} of {len(hints)}: {hints[number]}")

    def solution(self, name: str, *, force: bool = False) -> Outcome:
        """Show our version, after an attempt (or with ``force``)."""
        self._find(name, self.steps)
        if not (force or self._attempts.get(name)):
            return Outcome(TODO, f"check a version of your own first; or insist: lesson.solution({name!r}, force=True)")
        return Outcome(RIGHT, f"one way to write `{name}`:", self.files.solution(name))

    def progress(self) -> Outcome:
        """Say how much is done."""
        names = [*self.predictions, *self.steps]
        left = [name for name in names if name not in self._solved]
        if not left:
            return Outcome(RIGHT, f"all {len(names)} done. That was lesson {self.files.number}.")
        return Outcome(TODO, f"{len(names) - len(left)} of {len(names)} done; left: {', '.join(left)}")

    def _offer_help(self, step: Step) -> str:
        """Say what to run when stuck: the next hint, or the solution after the last one."""
        if self._hints.get(step.name, 0) < len(step.hints):
            return f"Stuck? `lesson.hint({step.name!r})` prints a hint."
        return f"Stuck? `lesson.solution({step.name!r})` shows our version."

    def _record(self, name: str, kind: str, message: str) -> Outcome:
        if kind == RIGHT:
            self._solved.add(name)
        return Outcome(kind, message)

    def _find(self, name: str, known: dict[str, Any]) -> Any:
        if name not in known:
            raise OptionError(f"lesson {self.files.number} has no {name!r}; it has {', '.join(known) or 'none'}")
        return known[name]

    def __repr__(self) -> str:
        return (
            f"Lesson {self.files.number}\n"
            f"questions: {', '.join(self.predictions)}\n"
            f"functions to write: {', '.join(self.steps)}\n\n{_USAGE}\n\n"
            f"minispec {minispec.__version__}, Python {platform.python_version()}"
        )


def begin(number: str) -> Lesson:
    """Open a lesson: the first cell of its notebook.

    Parameters
    ----------
    number : str
        Two digits, as in the file's name.

    Raises
    ------
    OptionError
        If there is no such lesson.
    """
    files = find(number)
    checks = files.checks()
    return Lesson(
        files,
        {prediction.name: prediction for prediction in checks.PREDICTIONS},
        {step.name: step for step in checks.STEPS},
    )
