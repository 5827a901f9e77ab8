"""Forty ways to get points without the work, for any assignment: nothing, constants, tables, guesses, and mixtures.

Each is worth the points of the questions that are honestly solved in it.
"""

from __future__ import annotations

import ast
import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from minispec.course.grading.diagnose import Reference
from minispec.course.grading.host import NotAValueError, encode, load

CONSTANTS = {
    "nothing": "None", "zero": "0", "one": "1", "half": "0.5", "float zero": "0.0", "float one": "1.0",
    "minus one": "-1", "true": "True", "false": "False", "no text": "''", "no list": "[]", "no dictionary": "{}",
    "not a number": "float('nan')", "infinity": "float('inf')", "pair of nothing": "(None, None)",
    "pair of zeros": "(0, 0)", "pair of ones": "(1, 1)", "empty and nothing": "([], None)",
    "triple": "('', '', None)", "no array": "np.zeros(0)", "no plan": "{'gamma': 0, 'stop_below': 0.0}",
    "no arrays copied": "{'copy': [np.zeros(0)] * 8}", "truth copied": "{'copy': [True] * 8}",
    "eight always": "{'gamma': 8, 'stop_below': 0.0}", "two always": "{'gamma': 2, 'stop_below': 0.5}",
    "first argument": "args[0]", "second argument": "args[1]", "third argument": "args[2]", "last argument": "args[-1]",
    "list of first": "[args[0]]", "length": "len(args[0])", "first of first": "args[0][0]",
    "zeros as first": "np.zeros(np.shape(args[0]))", "ones as first": "np.ones(np.shape(args[0]))",
    "sum": "sum(args)", "product": "np.prod(args)", "largest": "max(args)", "smallest": "min(args)",
    "whole first": "(args[0], None)", "first and rest": "(args[0], args[1], None)",
}  # fmt: skip


@dataclass(frozen=True)
class Strategy:
    """A module, and the questions that are honestly solved in it."""

    name: str
    source: str
    honest: tuple[str, ...] = field(default=())


def strategies(known: Reference) -> Iterator[Strategy]:
    """Yield what can be tried on an assignment."""
    solution = known.assignment.solution
    names, questions = functions(solution, known.assignment.id)
    for name, value in CONSTANTS.items():
        yield Strategy(name, "import numpy as np\n\n" + "".join(constant(one, value) for one in names))
    table = recorded(known, names)
    yield Strategy("table of the fixed cases", by_table(table, names, "None"))
    yield Strategy("table, and else the commonest", by_table(table, names, "common"))
    yield Strategy("table, and else the nearest", by_table(table, names, "nearest"))
    yield Strategy("remembers what it was told", remembering(names))
    texts = known.assignment.folder / "texts.json"
    if texts.is_file():
        yield Strategy("copies from the texts it has", COPYING.replace("TEXTS", repr(texts.read_text("utf-8"))))
        return
    first = known.assignment.questions[0].id
    honest = (first,) if any(question == first for question in questions.values()) else ()
    rest = [name for name, question in questions.items() if question not in ("", first)]
    yield Strategy(
        "honest in the first question only", solution + "\n\n" + "".join(constant(one, "None") for one in rest), honest
    )


def functions(solution: str, name: str) -> tuple[list[str], dict[str, str]]:
    """Return the functions that are asked for, and the question of each."""
    questions = {}
    for node in ast.parse(solution).body:
        if isinstance(node, ast.FunctionDef):
            told = re.match(r"Q(\d+)", ast.get_docstring(node) or "")
            questions[node.name] = f"{name}.q{told[1]}" if told else ""
    asked = [one for one, question in questions.items() if question] or list(questions)[:1]
    return asked, questions


def constant(name: str, value: str) -> str:
    return f"def {name}(*args, **kwargs):\n    return {value}\n\n\n"


def recorded(known: Reference, names: list[str]) -> dict[str, list[list[object]]]:
    """What the solution gives on the fixed cases, call by call: what a student's bundle and its messages give away."""
    module = load("recorded_solution", known.assignment.solution, "recorded_solution.py")
    table: dict[str, list[list[object]]] = {name: [] for name in names}

    class Recorder:
        keep = property(lambda self: self)

        def __getattr__(self, name: str) -> object:
            function = getattr(module, name)

            def call(*args: object, **kwargs: object) -> object:
                found = function(*args, **kwargs)
                with contextlib.suppress(NotAValueError, KeyError):
                    table[name].append([repr(args), encode(found)])
                return found

            return call

    for check in known.assignment.checks.values():
        for case in check.cases:
            if len(table[names[0]]) < 400:
                try:
                    check.observe(Recorder(), case)
                except Exception:  # what needs an oracle's other side
                    continue
    return table


TABLE = """
import json
from collections import Counter

import numpy as np
from minispec.course.grading.host import decode

TABLE = json.loads({table!r})
KNOWN = {name: dict(calls) for name, calls in TABLE.items()}
COMMON = {name: Counter(json.dumps(value) for _, value in calls).most_common(1) for name, calls in TABLE.items()}


def look_up(name, args):
    key = repr(args)
    if key in KNOWN[name]:
        return decode(KNOWN[name][key])
    if {otherwise!r} == "None" or not TABLE[name]:
        return None
    if {otherwise!r} == "common":
        return decode(json.loads(COMMON[name][0][0]))
    return decode(min(TABLE[name], key=lambda one: abs(len(one[0]) - len(key)))[1])


"""
COPYING = """
import json

KNOWN = [text["tokens"] for text in json.loads(TEXTS).values()]


def plan(tokens, history, c, row):
    for known in KNOWN:
        if known[: len(tokens)] == tokens:
            return {"copy": known[len(tokens) : len(tokens) + 8]}
    return {"gamma": 0, "stop_below": 0.0}
"""
REMEMBERING = """
SEEN = []


def answer(args):
    SEEN.append(args)
    return SEEN[len(SEEN) // 2][0]


"""


def by_table(table: dict[str, list[list[object]]], names: list[str], otherwise: str) -> str:
    """Return a module that knows the fixed cases by heart."""
    told = TABLE.replace("{table!r}", repr(json.dumps(table))).replace("{otherwise!r}", repr(otherwise))
    return told + "".join(constant(name, f"look_up({name!r}, args)") for name in names)


def remembering(names: list[str]) -> str:
    """Return a module that answers with what it was asked before."""
    return REMEMBERING + "".join(constant(name, "answer(args)") for name in names)
