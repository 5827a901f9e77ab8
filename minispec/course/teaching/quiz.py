"""The questions of ``lessons/quiz/quiz.toml`` as files that course platforms import.

GIFT is Moodle's plain form (docs.moodle.org, *GIFT format*). Canvas imports QTI, which the tool ``text2qti`` makes from
a plain form of its own.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from minispec.engine.files import write_text
from minispec.errors import OptionError

MOODLE, CANVAS = "quiz-moodle.gift", "quiz-canvas.txt"


@dataclass(frozen=True)
class Question:
    """A question with one right answer: one of the choices, or a number.

    Parameters
    ----------
    lesson : int
    text, because : str
        The question, and what is shown after an answer.
    choices : tuple of str
        The first one is right; empty if the answer is a number.
    number, tolerance : float
        What is right, and how far an answer may be from it.
    formula : str
        What ``number`` comes from, in the names of :mod:`minispec.theory`; may be empty.
    """

    lesson: int
    text: str
    because: str
    choices: tuple[str, ...] = ()
    number: float = 0.0
    tolerance: float = 0.0
    formula: str = ""


def read_quiz(lessons: Path) -> list[Question]:
    """Return the questions of a checkout's lessons, in order.

    Raises
    ------
    OptionError
        If there are none: an installed package holds no answers.
    """
    path = lessons / "quiz" / "quiz.toml"
    if not path.is_file():
        raise OptionError("an installed minispec holds no quiz; call it in the top folder of a clone")
    found = tomllib.loads(path.read_text(encoding="utf-8"))["question"]
    return [Question(**{**each, "choices": tuple(each.get("choices", ()))}) for each in found]


def write_gift(questions: list[Question]) -> str:
    """Return a file that Moodle imports, with a category per lesson."""
    parts, lesson = [], 0
    for number, each in enumerate(questions, 1):
        if each.lesson != lesson:
            lesson = each.lesson
            parts.append(f"$CATEGORY: minispec/Lesson {lesson:02d}")
        if each.choices:
            answers = "\n".join(
                f"\t{'=' if each.choices.index(text) == 0 else '~'}{_escape(text)}" for text in _turn(each, number)
            )
        else:
            answers = f"\t#{each.number:.12g}:{each.tolerance:g}" if each.tolerance else f"\t#{each.number:.12g}"
        parts.append(f"::{number:02d}::[plain]{_escape(each.text)} {{\n{answers}\n\t####{_escape(each.because)}\n}}")
    return "\n\n".join(parts) + "\n"


def write_text2qti(questions: list[Question]) -> str:
    """Return a file that ``text2qti`` makes into the QTI that Canvas imports."""
    parts = ["Quiz title: Speculative decoding\nshuffle answers: true"]
    for number, each in enumerate(questions, 1):
        lines = [f"Title: Lesson {each.lesson}", f"{number}. {each.text}", f"... {each.because}"]
        if each.choices:
            for letter, text in zip("abcdefgh", _turn(each, number), strict=False):
                lines.append(f"{'*' if text == each.choices[0] else ''}{letter}) {text}")
        elif each.tolerance or each.number % 1:  # text2qti wants a tolerance for a fraction, if only of 0
            lines.append(f"= {each.number:.12g} +- {each.tolerance:g}")
        else:
            lines.append(f"= {each.number:.0f}")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def write_quiz(lessons: Path, folder: Path) -> list[Path]:
    """Write both files into a folder that exists and return their paths."""
    questions = read_quiz(lessons)
    written = []
    for name, text in ((MOODLE, write_gift(questions)), (CANVAS, write_text2qti(questions))):
        write_text(folder / name, text)
        written.append(folder / name)
    return written


def _turn(question: Question, number: int) -> list[str]:
    """Return the choices with the right one at another place in each question, for platforms that do not shuffle."""
    place = number % len(question.choices)
    return [*question.choices[-place:], *question.choices[:-place]] if place else list(question.choices)


def _escape(text: str) -> str:
    r"""Escape what GIFT reads as a mark.

    >>> print(_escape("v = 1: {a}"))
    v \= 1\: \{a\}
    """
    return re.sub(r"([~=#{}:\\])", r"\\\1", text)
