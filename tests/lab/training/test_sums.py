"""Laws of the generator: answers are right, what is held out stays out, and a seed repeats."""

from __future__ import annotations

import random
import re

import pytest

from minispec.lab.training.sums import (
    HELD_OUT_TEMPLATES,
    KINDS,
    RANGES,
    SUMS_PER_DRILL,
    held_out_sums,
    is_held_out_pair,
    make_problem,
    training_drills,
    training_sums,
    uses_held_out_pair,
)

STEP = re.compile(r"^(?:Question: .*\nAnswer: )?(\d+) ([-+x]) (\d+) = (\d+)\.$", re.MULTILINE)


@pytest.fixture(scope="module")
def documents() -> tuple[str, ...]:
    return training_sums(4000, seed=5).documents


def test_every_step_is_right_and_leads_to_the_next(documents):
    for document in documents:
        *lines, last = document.split("\nAnswer: ")[1].split("\n")
        result = None
        for line in lines:
            left, sign, right, found = re.fullmatch(r"(\d+) ([-+x]) (\d+) = (\d+)\.", line).groups()
            assert int(found) == eval(f"{left}{sign.replace('x', '*')}{right}")
            assert result in (None, left)
            result = found
        assert last == f"The answer is {result}."


def test_drills_are_right_and_show_every_trained_pair_and_no_held_out_one():
    drills = training_drills(1500, seed=5).documents
    seen = set()
    for line in "\n".join(drills).split("\n"):
        left, sign, right, found = re.fullmatch(r"(\d+) ([-+x]) (\d+) = (\d+)\.", line).groups()
        assert int(found) == eval(f"{left}{sign.replace('x', '*')}{right}")
        seen.add((int(left), sign, int(right)))
    assert {drill.count("\n") for drill in drills} == {SUMS_PER_DRILL - 1}
    assert not any(map(uses_held_out_pair, drills))
    multiplied = {(a, "x", b) for a in range(2, 11) for b in range(2, 11)}
    assert {pair for pair in multiplied if not is_held_out_pair(*pair)} == multiplied & seen
    assert any(left > 90 and right > 40 for left, sign, right in seen if sign == "+")  # the wide half


def test_the_numbers_of_the_answer_stand_in_the_question(documents):
    for document in documents[:500]:
        question, answer = document.split("\nAnswer: ")
        left, _, right = answer.split(" ")[:3]
        assert {left, right} <= set(re.findall(r"\d+", question))


def test_training_shows_no_held_out_pair(documents):
    assert not any(map(uses_held_out_pair, documents))
    assert all(
        uses_held_out_pair(problem.document) for steps in (0, 1, 2) for problem in held_out_sums(steps, False, 50)
    )


def test_every_pair_of_a_held_out_problem_is_held_out():
    for problem in held_out_sums(2, False, 100):
        assert len(problem.steps) == 2
        assert all(is_held_out_pair(*step[:3]) for step in problem.steps)


def test_about_one_pair_in_eight_is_held_out_of_each_operation():
    for sign, ((low, high), (right_low, right_high)) in RANGES.items():
        pairs = [(a, b) for a in range(low, high + 1) for b in range(right_low, right_high + 1)]
        share = sum(is_held_out_pair(a, sign, b) for a, b in pairs) / len(pairs)
        assert share == pytest.approx(1 / 8, abs=4 * (0.11 / len(pairs)) ** 0.5)


def words(template: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{\w\\\}", r"[\\w]+", re.escape(template)))


@pytest.mark.parametrize("num_steps", [0, 1, 2])
def test_wording_is_kept_apart(num_steps, documents):
    held_out = [words(t) for kind in KINDS[num_steps].values() for t in kind[-HELD_OUT_TEMPLATES:]]
    trained = [words(t) for kind in KINDS[num_steps].values() for t in kind[:-HELD_OUT_TEMPLATES]]
    questions = [document.split("\n")[0].removeprefix("Question: ") for document in documents]
    assert not any(pattern.fullmatch(question) for pattern in held_out for question in questions)
    assert all(any(pattern.fullmatch(question) for question in questions) for pattern in trained)
    for problem in held_out_sums(num_steps, True, 20):
        assert any(pattern.fullmatch(problem.question) for pattern in held_out)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{0} + {1} = 9", True),
        ("{0}+{1}", True),
        ("about {0} and {1}", False),
        ("0.{0} + {1}", False),
        ("{0} + {1}5", None),
    ],
)
def test_a_held_out_pair_is_found_however_it_is_written(text, expected):
    pair = next((a, b) for a in range(10, 41) for b in range(2, 10) if is_held_out_pair(a, "+", b))
    if expected is None:  # "12 + 35" is another sum than "12 + 3"
        expected = b35 if (b35 := is_held_out_pair(pair[0], "+", int(f"{pair[1]}5"))) and pair[1] < 2 else False
    assert uses_held_out_pair(text.format(*pair)) is expected


def test_stars_and_longer_chains_are_read_too():
    a, b = next((a, b) for a in range(2, 11) for b in range(2, 11) if is_held_out_pair(a, "x", b))
    assert uses_held_out_pair(f"{a} * {b}")
    a, b = next((a, b) for a in range(3, 41) for b in range(2, 21) if b < a and is_held_out_pair(a, "-", b))
    assert uses_held_out_pair(f"100 - {a} - {b}")


def test_a_seed_repeats_and_another_does_not():
    assert training_sums(50, seed=1) == training_sums(50, seed=1)
    assert training_sums(50, seed=1) != training_sums(50, seed=2)
    assert training_drills(5, seed=1) == training_drills(5, seed=1) != training_drills(5, seed=2)
    assert held_out_sums(1, True, 10) == held_out_sums(1, True, 10)
    assert held_out_sums(1, True, 10) == held_out_sums(1, True, 20)[:10]


def test_names_and_pronouns_agree():
    problems = [make_problem(1, False, False, random.Random(seed)) for seed in range(300)]
    she = [p.question for p in problems if p.question.startswith(("Anna has", "Mia has", "Lily has"))]
    he = [p.question for p in problems if p.question.startswith(("Ben has", "Tom has", "Max has"))]
    assert she
    assert he
    assert not any(re.search(r"\b[Hh]e\b", question) for question in she)
    assert not any(re.search(r"\b[Ss]he\b", question) for question in he)
