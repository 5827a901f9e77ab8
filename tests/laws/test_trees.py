"""Trees over four tokens: mistakes about siblings need that many to show."""

from __future__ import annotations

import numpy as np
import pytest

from tests.laws.oracle import slow_logits

from .space import BEGUN, EXACT, LOADED, four_target, tree_distance

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


def test_several_tokens_are_wanted_after_a_rejection():
    """What makes these tables fit for the purpose."""
    p, q = (np.exp(slow_logits(model, BEGUN)) for model in (four_target(), LOADED["four"]))
    assert np.count_nonzero(p > q) == 2
