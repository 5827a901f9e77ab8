"""No near miss passes a lesson's check, most are named, and no right answer is refused.

The near misses are made by a program from the lessons' own solutions, every one that changes a single thing; those that
pass must be on the list of what is proved equivalent. Those that people write are in ``near_misses``.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from minispec.course.teaching import Step
from minispec.course.teaching import notebooks as books
from minispec.course.teaching.find import Files, lessons
from tests.course.teaching.mutation import compiled, mutants
from tests.course.teaching.near_misses import RIGHT, WRONG

ALL = lessons()
QUICK = "06"
IN_CI = ("05", "15")  # of lessons whose every single change is tried, a minute each; the others by hand
AT_LEAST = 15
NAMED = 0.5
NAMED_OF_ALL = 0.4
"""Less of those that a program makes: most of them nobody would write."""

SAME_VALUE = [
    (r"^return (list|tuple)\(", "a list and a tuple are alike"),
    (r"^return str\('", "a text is its own text"),
    (r"^return str\(text\)", "a text is its own text"),
    (r"^return np\.abs\(", "nothing that these steps return is negative"),
    (r"^return np\.asarray\(.*\)\.tolist\(\)$", "of a number, a text or a list: the same number, text or list"),
]
"""Changes to what is returned that leave its value alone, in every step; the dtype and an array's type are checked."""

WHOLE = (
    "02.after", "02.cache_bytes", "03.weights_read", "04.decide", "05.judge", "06.best_gamma", "07.propose",
    "08.draft_length", "08.heuristic", "08.fallback", "09.race", "11.retracted", "11.complete", "11.held_back",
    "11.lockstep", "11.ends", "11.pages_held", "11.share_rows", "13.first_difference",
)  # fmt: skip
ROUNDED = (r"^return np\.(round\(.*, 2\)|asarray\(.*, int\))$", "whole numbers already")
"""What leaves the results of these steps as they are."""

EQUIVALENT: dict[str, list[tuple[str, str]]] = {
    "01.layer_norm": [
        (r"axis=1", "x has two axes: -1 is 1"),
        (r"\(mean - x\) \*\* 2", "a square"),
    ],
    "01.attention": [
        (r"size = (keys|values)\.shape", "all three have the same shape"),
        (r"axis=1", "two axes: -1 is 1"),
    ],
    "02.visible": [(r"^return np\.asarray\(.*(> 0|int\))$", "0 and 1 select as False and True do")],
    "02.after": [
        (r"np\.full\((63|65|64, -?\d)", "what lies beyond the length is never read"),
    ],
    "05.accept": [
        (r"^return np\.asarray\(.*(> 0|int\))$", "0 and 1 are truth values"),
        (r"min\(2\.0", "u is below 1"),
    ],
    "05.residual": [(r"else draft_probs\.copy", "nothing is left only if p equals q")],
    "05.one_token": [
        (r"min\(2\.0", "no chance is above 1"),
        (
            r"(Address\(0, '(accept|residual)'\)|, '(accept|residual)'\)|'(accept|residual)', -?1\))",
            "any address of its own",
        ),
        (r"^return np\.(round\(.*, 2\)|asarray\(.*, int\))$", "whole numbers already"),
    ],
    "06.alpha_of": [
        (r"low, high = \((-1\.0, 1\.0|0\.0, 2\.0)\)", "a larger interval around the same answer"),
        (r"range\((59|61)\)", "59 halvings are as good as 60, to 1e-17"),
        (r"<= rate", "equality ends in the same limit"),
    ],
    "06.best_gamma": [(r"^return np\.argmax\(", "NumPy's number is as good")],
    "07.rank": [
        (r"range\(0, largest \+ 1\)", "no draft: speedup 1, and only what is above 1 is kept"),
    ],
    "07.with_acceptance": [
        (r"np\.abs\(uniform - p\)", "an absolute value"),
        (r"else -?1\.0", "p is uniform: mixing it with itself changes nothing"),
    ],
    "07.propose": [
        (r"-2, -1\)", "the slice from -1 is shorter than `size`, or the whole text itself"),
        (r"^return (2 \* \[\]|\[\]\[|np\.(sort|asarray)\(\[\]\))", "still empty"),
    ],
    "08.fallback": [
        (r"^return 1 if all", "a history shorter than probe - 1 holds a round that drafted, or ended before"),
        (r"max\(-?1, len", "as above: the first round of a history of at most probe - 1 decides nothing"),
    ],
    "09.match_rate": [(r"^return \(p \* q\)\.sum\(\)$", "NumPy's number is as good")],
    "09.race": [
        (r"np\.where\((probs >= 0|exponentials > 0|probs > -1), probs, 1\.0\)", "divides 0 where it is not used"),
        (r"probs, (0|2)\.0\)", "divides by another number where it is not used"),
        (r"^return np\.argmin\(", "NumPy's number is as good"),
    ],
    "07.seems_broken": [(r"^return np\.asarray\(.*(> 0|int\))$", "0 and 1 are truth values")],
    "09.survivals": [(r"zip\(p_of_drafts, q_of_drafts(, strict=False)?\)", "both have the same length")],
    "09.two_guesses": [
        (r"^if rest\.(mean|max)\(\) == 0", "no entry is negative: zero together"),
        (r"^return (1|first|np\.(round|asarray)\(float\(first\).*)$", "p equals q there: first is 1"),
        (r"^return first \+", "NumPy's number is as good"),
    ],
    "09.lenient_law": [
        (r"rest\.(mean|max)\(\) > 0", "no entry is negative: zero together"),
        (r"else (q|lenience)$", "p equals q there, and nothing is rejected"),
    ],
    "10.panel_product": [(r"panels\.dtype", "x and the panels have one dtype")],
    "10.batch_invariant": [(r"^return np\.asarray\(.*(> 0|int\))$", "0 and 1 are truth values")],
    "11.complete": [
        (r"min\(5, ", "the first byte of a character is at most 4 back"),
        (r"min\(3, ", "4 bytes back only a complete character begins"),
        (r"min\(4, sum\(data\)\)", "a sum of bytes is at least their number, or all are NUL and complete"),
        (r"first (<= 128|< 129)", "a byte of 128 continues, and is never first"),
        (r"length = 0 if", "one byte is always there"),
        (r"^return (-|2 \* )?(len|sum)\(data\)( / 2)?$|^return 0$", "reached by nothing but b'' and whole characters"),
    ],
    "11.held_back": [
        (r"min\(len\(stop\), len\(stop\) - 1\)", "no text ends with more than it has"),
        (
            r"in range\(len\(text\), 0",
            "no text holds the whole stop",
        ),
        (r"in range\(max\(len\(text\), len\(stop\) - 1\), 0", "the same"),
        (r"in range\(min\(len\(text\), len\(stop\)( \+ 1| - 0)?\), 0", "the same"),
        (r", -1, -1\)", "every text ends with nothing: 0"),
        (r"^return (-0|2 \* 0|0 / 2)$", "still 0"),
    ],
    "12.interval": [
        (r"ratios = (plain|np\.array\(plain\)) / (fast|np\.array\(fast\))$", "one array makes both arrays"),
        (r"^return np\.sort\(", "the lower percentile comes first already"),
        (r"^return \((float\()?np\.percentile", "NumPy's number is as good"),
    ],
    "12.same_pair": [
        (r"low, high = \((-1\.0, 1\.0|0\.0, 2\.0)\)", "a larger interval around the same answer"),
        (r"range\((49|51)\)", "49 halvings are as good as 50, to 1e-14"),
        (r"<= rate", "equality ends in the same limit"),
        (r"^return (low [+-] 1|-low)$", "the same shift, or sign, on both sides of a distance"),
        (r"alpha_of\(rate_two, gamma_two\) - alpha_of", "an absolute value"),
        (r"< 0\.01$", "exactly 0.01 apart does not occur in floating point"),
        (r"^return np\.asarray\(.*(> 0|int\))$", "0 and 1 are truth values"),
    ],
    "13.first_difference": [
        (r"zip\((one, other|other, one, strict=False)\)", "the first difference is the same from both sides"),
    ],
    "13.launch_bound": [
        (r"^return np\.asarray\(.*(> 0|int\))$", "0 and 1 are truth values"),
        (r"999999999|1000000001", "a billionth, which no measurement knows"),
    ],
    "14.acceptance": [(r"^return np\.minimum\(p, q\)\.sum\(axis=1\)\.mean\(\)$", "NumPy's number is as good")],
    "14.gradient": [(r"/ len\((state|seen)\)$", "as many rows as p has")],
    "15.keep_best": [
        (r"\(\(\), 2\.0\)", "the same factor in every value"),
        (r"argsort\(-row\)", "of equally likely tokens either may come first"),
        (r"kind='stable'\)\[:\]", "beyond num_nodes nothing is kept"),
        (r"\(\(\*path, x\), value", "NumPy's number is as good"),
    ],
}
"""What passes and is right, with the reason: a pattern of the line that was changed."""


def steps(files: Files) -> Iterator[tuple[str, Step, dict[str, Any]]]:
    checks = files.checks()
    for step in checks.STEPS:
        yield f"{files.number}.{step.name}", step, vars(checks) | {"np": np, "ours": step.reference}


def is_named(message: str) -> bool:
    """Whether something is said besides the first difference and its case: the mistake, or what kind of thing it is."""
    return len(message.splitlines()) > 2


def of_lessons(*, always: str) -> list[Any]:
    marks = dict.fromkeys(IN_CI, pytest.mark.slow) | {always: ()}
    return [
        pytest.param(files, id=files.number, marks=marks.get(files.number, pytest.mark.exhaustive)) for files in ALL
    ]


@pytest.mark.parametrize("files", of_lessons(always=QUICK))
def test_no_change_of_a_single_thing_passes(files: Files) -> None:
    solved = books.solutions(files.source.read_text(encoding="utf-8"), files.slug)
    passed, caught, unused = [], [], {}
    for key, step, surroundings in steps(files):
        allowed = [*SAME_VALUE, *EQUIVALENT.get(key, []), *([ROUNDED] if key in WHOLE else [])]
        used = set()
        count = 0
        for change, source in mutants(solved[step.name]):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # `1 is not callable`, and what NumPy says about nonsense
                kind, message = step.judge(compiled(source, step.name, surroundings))
            count += 1
            if kind != "right":
                caught.append(message)
                continue
            reasons = {pattern for pattern, _ in allowed if re.search(pattern, change)}
            used |= reasons
            if not reasons:
                passed.append(f"{key}: {change}")
        assert count >= AT_LEAST, f"{key} has only {count} near misses"
        unused[key] = {pattern for pattern, _ in EQUIVALENT.get(key, [])} - used
    assert not passed, "\n".join(passed)
    assert not any(unused.values()), unused
    assert np.mean([is_named(message) for message in caught]) > NAMED_OF_ALL


@pytest.mark.parametrize("files", ALL, ids=lambda files: files.number)
def test_what_people_write_is_judged_rightly(files: Files) -> None:
    found = []
    for key, step, surroundings in steps(files):
        for answer in (*WRONG[key], *RIGHT[key]):
            is_whole = answer.startswith("\ndef ")
            attempt = compiled(answer, step.name, surroundings) if is_whole else eval(answer, surroundings)
            kind, message = step.judge(attempt)
            assert (kind == "right") == (answer in RIGHT[key]), f"{key}: {answer}\n{message}"
            if kind != "right":
                found.append(is_named(message) and not re.match(r"\w+Error", message))
    assert np.mean(found) >= NAMED  # an error is no name


def test_every_step_has_near_misses() -> None:
    keys = {key for files in ALL for key, _, _ in steps(files)}
    assert set(WRONG) == set(RIGHT) == keys
    assert set(EQUIVALENT) <= keys


def test_no_argument_is_called_ignored_because_the_first_cases_are_alike() -> None:
    """The ratio upside down depends on both probabilities; in the first eight cases one cannot see it."""
    lesson = next(files for files in ALL if files.number == "05")
    step = next(one for _, one, _ in steps(lesson) if one.name == "accept")
    _, message = step.judge(lambda p, q, u: u < min(1.0, q / p) if p else False)
    assert "does not depend" not in message
