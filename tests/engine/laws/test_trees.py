"""Trees over four tokens: mistakes about siblings need that many to show."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from minispec.engine.generation import api
from minispec.engine.generation.options import Options
from minispec.engine.generation.stopping import Limits
from minispec.engine.laws import Enumerator, outcome, total_variation
from minispec.engine.verifiers import get_verifier
from minispec.errors import OptionError
from tests.engine.laws.oracle import slow_law, slow_logits

from .space import (
    BEGUN,
    EXACT,
    LOADED,
    PLAIN,
    PROMPT,
    TOKENIZER,
    four_target,
    models_by_name,
    table_target,
    tree_distance,
)

SIBLINGS = ["with", "without", "likeliest"]


@pytest.mark.parametrize("siblings", SIBLINGS)
@pytest.mark.parametrize("verify", ["tree", "traversal", "match"])
@pytest.mark.parametrize("shape", ["2", "3"])
def test_law_is_the_targets(verify, shape, siblings):
    assert tree_distance(verify, shape, siblings, 3) < EXACT


@pytest.mark.parametrize("siblings", SIBLINGS)
@pytest.mark.parametrize(
    "verify",
    [*(pytest.param(each, marks=pytest.mark.slow) for each in ("tree", "traversal")),
     pytest.param("match", marks=pytest.mark.exhaustive)],
)  # fmt: skip
def test_law_is_the_targets_with_siblings_below(verify, siblings):
    assert tree_distance(verify, "1x2", siblings, 4) < EXACT


@pytest.mark.parametrize(
    ("shape", "num_tokens"), [("2", 3), ("3", 3), pytest.param("2x1", 4, marks=pytest.mark.exhaustive)]
)
def test_law_of_k_seq_is_the_targets(shape, num_tokens):
    assert tree_distance("kseq", shape, "with", num_tokens) < EXACT


@pytest.mark.parametrize(
    ("verify", "siblings"),
    [pytest.param("tree", "likeliest", marks=pytest.mark.slow)]
    + [pytest.param("tree", siblings, marks=pytest.mark.exhaustive) for siblings in ("with", "without")]
    + [pytest.param("match", siblings, marks=pytest.mark.exhaustive) for siblings in SIBLINGS],
)
def test_law_is_the_targets_with_a_child_each(verify, siblings):
    assert tree_distance(verify, "2x1", siblings, 4) < EXACT


def growing_distance(verify, siblings):
    """A tree of two candidates: a sibling each, or a child of the elder in the place of the younger."""
    target, draft = table_target(eos=True), f"tree:draft=pushing,shape=dynamic,nodes=3,siblings={siblings}"
    options = {**PLAIN, "verify": verify, "gamma": 2, "max_tokens": 4}

    def run(noise):
        return outcome(api.stream(PROMPT, target=target, draft=draft, noise=noise, **options).run())

    with models_by_name():
        law = Enumerator(run).law()
    return total_variation(
        law, slow_law(target, Options(**PLAIN), PROMPT, Limits(4, 64, (), target.eos_token_id), TOKENIZER)
    )


@pytest.mark.parametrize("siblings", SIBLINGS)
@pytest.mark.parametrize("verify", ["tree", "traversal", pytest.param("match", marks=pytest.mark.slow)])
def test_law_is_the_targets_where_an_elder_pushes_out_the_younger(verify, siblings):
    assert growing_distance(verify, siblings) < EXACT


def test_k_seq_would_bend_the_law_of_a_tree_that_grows():
    """The control, and why the two are refused: with the refusal taken away, the law is another one."""
    assert growing_distance(dataclasses.replace(get_verifier("kseq"), counts_siblings=False), "with") > 1e-2
    with pytest.raises(OptionError, match=r"siblings that depend on each other.*shape=4x2x1,siblings=with"):
        growing_distance("kseq", "with")


def test_several_tokens_are_wanted_after_a_rejection():
    """What makes these tables fit for the purpose."""
    p, q = (np.exp(slow_logits(model, BEGUN)) for model in (four_target(), LOADED["four"]))
    assert np.count_nonzero(p > q) == 2
