"""Usual mistakes, written as a learner writes them: without the guards that the checks' own versions have."""

from __future__ import annotations

import numpy as np
import pytest

from minispec.course.teaching import Mistake, Step, begin
from minispec.course.teaching.find import lessons


def attend(queries, keys, values, axis, shift):
    scores = queries @ keys.T / np.sqrt(queries.shape[1])
    scores = np.where(np.triu(np.ones((len(queries), len(queries)), bool), 1), -np.inf, scores)
    weights = np.exp(scores - scores.max(axis, keepdims=True) * shift)
    return weights / weights.sum(axis, keepdims=True) @ values


def decode(propose, choose, prompt, gamma, num_tokens, room=1):
    new, rounds = [], 0
    while len(new) < num_tokens:
        drafted = propose([*prompt, *new], min(gamma, num_tokens - len(new) - room))
        chosen = choose([*prompt, *new], drafted)
        accepted = 0
        while accepted < len(drafted) and drafted[accepted] == chosen[accepted]:
            accepted += 1
        new += [*drafted[:accepted], chosen[accepted]]
        rounds += 1
    return new, rounds


def decode_in_place(propose, choose, prompt, gamma, num_tokens):
    prompt += decode(propose, choose, list(prompt), gamma, num_tokens)[0]
    return prompt[::-1], 0


@pytest.mark.parametrize(
    ("lesson", "name", "attempt", "told"),
    [
        ("05", "accept", lambda p, q, u: u < min(1.0, q / p), "You divide the wrong way round"),
        ("05", "residual", lambda p, q: np.maximum(q - p, 0) / np.maximum(q - p, 0).sum(), "You took q − p"),
        ("05", "residual", lambda p, q: np.abs(p - q) / np.abs(p - q).sum(), "You took |p − q|"),
        ("05", "residual", lambda p, q: np.maximum(p - q, 0) / np.maximum(p - q, 0).sum(), "If p equals q nothing"),
        ("09", "race", lambda probs, exponentials: np.argmax(exponentials * probs), "That is the wrong way from above"),
        ("01", "attention", lambda q, k, v: attend(q, k, v, -1, 0.0), "A large score overflows"),
        ("01", "attention", lambda q, k, v: attend(q, k, v, 0, 1.0), "The weights of a row sum to 1, not"),
        ("04", "speculate", lambda *given: decode(*given)[0], "Return two things"),
        ("04", "speculate", lambda *given: decode(*given, room=0), "You overshoot by one"),
        ("04", "speculate", decode_in_place, "it changes its own argument"),
    ],
)
def test_the_usual_mistakes_are_named(lesson, name, attempt, told):
    outcome = begin(lesson).check(name, attempt)
    assert (outcome.kind, outcome.message.startswith(told)) == ("wrong", True), outcome.message


def test_a_mistake_is_named_where_both_have_results_and_most_cases_tell():
    def halve(x):
        return x / 2

    def step(cases):
        return Step("half", cases, halve, [Mistake("Half, not double.", lambda x: 2 * x if x else 0.0)])

    def doubles(x):
        return 2 * x * (x / x)  # breaks at 0

    few, most = [(0.0,), (0.0,), (0.0,), (1.0,)], [(0.0,), (1.0,), (2.0,)]
    assert step(most).judge(doubles)[1].startswith("Half, not double.")
    assert not step(few).judge(doubles)[1].startswith("Half, not double.")
    assert not step(most).judge(lambda x: 2 * x if x == 1 else 3 * x / x)[1].startswith("Half, not double.")


@pytest.mark.parametrize("number", [files.number for files in lessons()])
def test_no_prediction_has_the_name_of_a_function(number):
    """What is solved is kept by name."""
    lesson = begin(number)
    assert not lesson.predictions.keys() & lesson.steps.keys()
