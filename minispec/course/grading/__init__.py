"""The grader: what a submission does is observed in a worker, and judged here.

An author of assignments writes :class:`Check` objects; see ``docs/write-an-assignment.md``. Verdicts are formed in this
process, which the student's code never enters; a worker process runs that code and returns values.
"""

from minispec.course.grading.check import Check, Close, with_drawn
from minispec.course.grading.oracle import Oracle, Refusal, Uniforms, exact_law
from minispec.course.grading.subject import LocalSubject, StudentError, Subject

__all__ = [
    "Check", "Close", "LocalSubject", "Oracle", "Refusal", "StudentError", "Subject", "Uniforms", "exact_law",
    "with_drawn",
]  # fmt: skip
