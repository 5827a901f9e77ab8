"""The held-out prompts that come with the experiments: as many of each kind, all different, and long enough alone."""

from __future__ import annotations

import ast
import json
from collections import Counter
from importlib import resources

import pytest

from minispec.lab.ledger.framework import FULL
from minispec.lab.ledger.runs import DOMAINS, TARGET, model, prompts
from minispec.lab.prompts import bundled_prompts
from minispec.lab.training.sums import held_out_sums, uses_held_out_pair

LINES = [
    json.loads(line)
    for line in resources.files("minispec.lab.ledger").joinpath("prompts.jsonl").read_text("utf-8").splitlines()
]


def of(domain: str) -> list[dict[str, str]]:
    return [line for line in LINES if line["domain"] == domain]


def test_there_are_as_many_of_each_kind_all_different() -> None:
    assert Counter(line["domain"] for line in LINES) == dict.fromkeys(DOMAINS, FULL.prompts)
    assert len({line["prompt"] for line in LINES}) == len({line["id"] for line in LINES}) == len(LINES)
    assert not {line["prompt"] for line in LINES} & {prompt.text for prompt in bundled_prompts()}
    assert all(line["source"] for line in LINES)


def test_questions_have_answers_and_sums_are_held_out() -> None:
    kinds = Counter(line["source"] for line in of("questions"))
    assert len(kinds) == 8
    assert kinds["SVAMP"] == kinds["GSM8K"] == 20
    held_out = {
        problem.prompt: problem
        for steps in (0, 1, 2)
        for wording in (False, True)
        for problem in held_out_sums(steps, wording, 20)
    }
    for line in of("questions"):
        assert line["prompt"].startswith("Question: ")
        assert line["prompt"].endswith("\nAnswer:")
        assert line["answer"]
        if line["source"].startswith("sums"):
            problem = held_out[line["prompt"]]
            assert str(problem.answer) == line["answer"]
            assert uses_held_out_pair(problem.document)


def test_code_is_a_function_that_lacks_its_body_and_stories_are_begun() -> None:
    for line in of("code"):
        (function,) = ast.parse(line["prompt"]).body
        assert isinstance(function, ast.FunctionDef)
        assert ast.get_docstring(function)
        assert len(function.body) == 1
    assert all(len(line["prompt"].split()) == 16 for line in of("stories"))


def test_the_first_few_are_a_sample_of_all() -> None:
    assert len({line["source"] for line in of("questions")[:10]}) > 4
    assert len({line["source"] for line in of("code")[:10]}) > 3


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_long_text_fits_behind_each(domain: str) -> None:
    lengths = [len(prompt) for prompt in prompts(domain, FULL.prompts)]
    assert len(lengths) == FULL.prompts
    assert max(lengths) + FULL.long <= model(TARGET).n_positions
