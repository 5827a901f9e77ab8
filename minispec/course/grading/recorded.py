"""What the solution and the catalogue of mistakes give, written down: students get this instead of the code.

With it, ``minispec grade`` in a student's bundle runs the public checks and names mistakes, but cannot grade hidden
cases nor search for smaller examples: for both, the solution has to be run.
"""

from __future__ import annotations

import json
from typing import Any

from minispec.course.grading.check import Check
from minispec.course.grading.diagnose import Mistake, Reference
from minispec.course.grading.host import decode, encode
from minispec.course.grading.manifest import RECORDED, Assignment
from minispec.course.grading.observe import Failed, Observation


def record(assignment: Assignment) -> str:
    """Write down what happens on the fixed cases of the public checks."""
    reference = Reference(assignment)
    public = [info.id for question in assignment.questions for info in question.checks if info.visibility == "public"]
    checks = [assignment.checks[name] for name in public]
    told = {
        "expected": {check.id: _write(reference.expect(check)) for check in checks},
        "mistakes": [
            {
                "name": mistake.name,
                "what": mistake.what,
                "fails": mistake.fails,
                "seen": {check.id: _write(_fingerprints(reference, mistake, check)) for check in checks},
            }
            for mistake in reference.mistakes()
            if mistake.fails in public
        ],
    }
    return json.dumps(told, separators=(",", ":"))


def _fingerprints(reference: Reference, mistake: Mistake, check: Check) -> list[Observation]:
    return [reference.fingerprint(mistake, check, i) for i in range(len(check.cases))]


def _write(seen: list[Observation]) -> list[Any]:
    return [
        {"failed": [one.kind, one.type_name, one.message, one.where, one.place]}
        if isinstance(one, Failed)
        else {"value": encode(one)}
        for one in seen
    ]


def _read(trees: list[Any]) -> list[Observation]:
    return [Failed(*tree["failed"]) if "failed" in tree else decode(tree["value"]) for tree in trees]


class Recorded(Reference):
    """A reference without the code behind it.

    Parameters
    ----------
    assignment : Assignment
        Of a student's bundle.
    """

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self.solution = None
        told = json.loads((assignment.folder / RECORDED).read_text(encoding="utf-8"))
        self._known = [Mistake(one["name"], one["what"], one["fails"], None) for one in told["mistakes"]]
        self._expected = {name: _read(trees) for name, trees in told["expected"].items()}
        self._fingerprints = {
            (one["name"], name, i): seen
            for one in told["mistakes"]
            for name, trees in one["seen"].items()
            for i, seen in enumerate(_read(trees))
        }

    def mistakes(self) -> list[Mistake]:
        """Return the catalogue, without its code."""
        return self._known


def reference_for(assignment: Assignment) -> Reference:
    """Return what submissions are compared with: our solution, or what was recorded of it."""
    return Recorded(assignment) if assignment.is_bundle else Reference(assignment)
