"""What a lesson's checks file says: predictions with replies, and steps with their usual mistakes."""

from __future__ import annotations

import ast
import contextlib
import copy
import inspect
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from minispec.course.teaching.compare import difference, show
from minispec.course.teaching.diagnose import diagnose

TODO, WRONG, RIGHT = "todo", "wrong", "right"
_CHANGES = "it changes its own argument; copy before you write into it"


def normalise(answer: Any) -> Any:
    """Return a prediction as it was meant, however it was typed.

    >>> normalise(" No. "), normalise("70%"), normalise("0.7"), normalise("(10, 128)")
    ('no', 0.7, 0.7, (10, 128))
    """
    if not isinstance(answer, str):
        return answer
    text = " ".join(answer.split()).strip(" .!\"'").casefold()
    if text in ("true", "false"):
        return text == "true"
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


@dataclass(frozen=True)
class Reply:
    """What to say to one kind of wrong prediction.

    Parameters
    ----------
    when : callable or value
        A predicate over the answer, or the answer itself.
    message : str
    """

    when: Any
    message: str

    def fits(self, answer: Any) -> bool:
        """Whether this is that kind of answer."""
        try:
            return bool(self.when(answer)) if callable(self.when) else difference(answer, normalise(self.when)) is None
        except (TypeError, ValueError):
            return False


@dataclass(frozen=True)
class Prediction:
    """A question to be answered before anything is run.

    Parameters
    ----------
    name : str
    answer : value
        What is right; a number is right within ``tolerance``, a share of it.
    because : str
        Said with the verdict, whichever it is.
    replies : sequence of Reply
        The first that fits a wrong answer is said.
    tolerance : float
    choices : sequence of str
        The answers to choose from, if not every answer makes sense.
    """

    name: str
    answer: Any
    because: str
    replies: Sequence[Reply] = ()
    tolerance: float = 1e-6
    choices: Sequence[str] = ()

    def judge(self, answer: Any) -> tuple[str, str]:
        """Return ``todo``, ``wrong`` or ``right``, and what to say."""
        if answer is ...:
            return TODO, "Put your answer in place of the dots before you read on. A guess is worth more than none."
        answer = normalise(answer)
        if self.choices and answer not in [normalise(choice) for choice in self.choices]:
            return TODO, f"Answer with one of {', '.join(repr(choice) for choice in self.choices)}."
        if difference(answer, normalise(self.answer), rtol=self.tolerance) is None:
            return RIGHT, f"Yes. {self.because}"
        reply = next((reply.message for reply in self.replies if reply.fits(answer)), "Not this time.")
        return WRONG, f"{reply} {self.because}"


@dataclass(frozen=True)
class Mistake:
    """A wrong function, and what to tell the learner who wrote it."""

    message: str
    function: Callable[..., Any]


@dataclass(frozen=True)
class Step:
    """Something to write, and how to tell what is wrong with it.

    Parameters
    ----------
    name : str
        The name of the function in the lesson.
    cases : sequence of tuple, or callable that returns one
        Arguments, the simplest case first: the first that fails is shown.
    reference : callable
        Right; it is called with the same arguments.
    mistakes : sequence of Mistake
        If the attempt behaves like one of these on every case, that is what is wrong.
    hints : sequence of str
        Each says more than the one before.
    rtol, atol : float
        Tolerance for numbers; another valid order of operations must pass.
    same_dtype : bool
        Arrays must hold the reference's type of number.
    observe : callable, optional
        Turns a function, the learner's or ours, into the one that is called with the arguments and compared: for a
        program whose distribution counts, not one run of it.
    """

    name: str
    cases: Sequence[tuple[Any, ...]] | Callable[[], Sequence[tuple[Any, ...]]]
    reference: Callable[..., Any]
    mistakes: Sequence[Mistake] = ()
    hints: Sequence[str] = ()
    rtol: float = 1e-6
    atol: float = 1e-9
    same_dtype: bool = False
    observe: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None

    def judge(self, attempt: Any) -> tuple[str, str]:
        """Return ``todo``, ``wrong`` or ``right``, and what to say. Never raises what the attempt raises."""
        if not callable(attempt):
            return WRONG, f"{show(attempt)} is no function; hand in `{self.name}` itself, without brackets."
        if self.observe is not None:
            mistakes = [Mistake(one.message, self.observe(one.function)) for one in self.mistakes]
            seen = replace(self, reference=self.observe(self.reference), mistakes=mistakes, observe=None)
            return seen.judge(self.observe(attempt))
        cases = self.cases() if callable(self.cases) else self.cases
        for case in cases:
            verdict = self._run(attempt, case)
            if verdict is not None:
                kind, message = verdict
                return kind, message if kind == TODO else self._explain(attempt, cases, message)
        return RIGHT, f"`{self.name}` does what it should on {len(cases)} case{'s' if len(cases) > 1 else ''}."

    def _run(self, attempt: Callable[..., Any], case: tuple[Any, ...]) -> tuple[str, str] | None:
        """Return what is wrong with the attempt on one case, if anything: the difference first, then the case."""
        given = copy.deepcopy(case)
        call = f"in `{self.name}({', '.join(show(argument) for argument in case)})`"
        try:
            found = _quietly(attempt, given)
        except NotImplementedError:
            return TODO, f"`{self.name}` is not written yet."
        except Exception as error:  # whatever a learner's function may raise
            return WRONG, f"{type(error).__name__}: {error}{_place(error, attempt)}\n{call}"
        wrong = self._difference(found, _quietly(self.reference, copy.deepcopy(case)))
        if wrong is not None:
            return WRONG, f"{wrong}\n{call}"
        if any(difference(a, b, 0.0, 0.0) is not None for a, b in zip(given, case, strict=True)):
            return WRONG, f"{_CHANGES}\n{call}"
        return None

    def _difference(self, found: Any, expected: Any) -> str | None:
        return difference(found, expected, self.rtol, self.atol, same_dtype=self.same_dtype)

    def _explain(self, attempt: Callable[..., Any], cases: Sequence[tuple[Any, ...]], message: str) -> str:
        for partly in (False, True):
            for mistake in self.mistakes:
                if self._is_made(mistake, attempt, cases, partly=partly):
                    return f"{mistake.message}\n{message}"
        if any(_changes(attempt, case) for case in cases):  # what it returns says little about what was meant
            return message if _CHANGES in message else f"{_CHANGES}\n{message}"
        diagnosis = diagnose(attempt, self.reference, cases, lambda a, b: self._difference(a, b) is None)
        return f"{diagnosis}\n{message}" if diagnosis else message

    def _is_made(
        self, mistake: Mistake, attempt: Callable[..., Any], cases: Sequence[tuple[Any, ...]], *, partly: bool
    ) -> bool:
        """Whether an attempt behaves like a mistake on every case, or ``partly``: as far as both have results.

        Where the attempt divides by zero, the mistake may have been written with more care. Most cases must tell, and
        one of them that the attempt is wrong.
        """
        told = []
        for case in cases:
            found, wrong, right = (_result(each, case) for each in (attempt, mistake.function, self.reference))
            if self._difference(found, wrong) is None:
                told.append(self._difference(wrong, right) is not None)
            elif not partly or not (_is_broken(found) or _is_broken(wrong)):
                return False
        return any(told) and 2 * len(told) > len(cases)


class _Raised(str):
    """Stands for the result of a call that failed: two that fail in the same way are alike."""


def _result(function: Callable[..., Any], case: tuple[Any, ...]) -> Any:
    try:
        return _quietly(function, copy.deepcopy(case))
    except Exception as error:  # whatever a learner's function may raise
        return _Raised(type(error).__name__)


def _is_broken(result: Any) -> bool:
    """Whether a call failed, or came to no number."""
    if isinstance(result, _Raised):
        return True
    is_number = isinstance(result, (float, np.inexact))
    is_number = is_number or (isinstance(result, np.ndarray) and np.issubdtype(result.dtype, np.inexact))
    return is_number and not np.isfinite(result).all()


def _changes(function: Callable[..., Any], case: tuple[Any, ...]) -> bool:
    given = copy.deepcopy(case)
    with contextlib.suppress(Exception):  # whatever a learner's function may raise
        _quietly(function, given)
    return any(difference(a, b, 0.0, 0.0) is not None for a, b in zip(given, case, strict=True))


def _quietly(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Call a function; a division by zero that it discards later is no concern of the learner's."""
    with np.errstate(all="ignore"):
        return function(*arguments)


def _place(error: Exception, attempt: Callable[..., Any]) -> str:
    """Say in which of the learner's lines an error arose, even if NumPy raised it further down."""
    code = getattr(inspect.unwrap(attempt), "__code__", None)
    if code is None:
        return ""
    folder = Path(code.co_filename).parent  # the cells of a notebook are files of one folder
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).parent == folder]
    return f"\nin your line {frames[-1].lineno}: `{frames[-1].line}`" if frames else ""
