"""Acceptance by rank: counted another way, and what a tree shaped by it is expected to give."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.engine.drafters.trees import FixedTreeDrafter, ModelSource
from minispec.engine.drafters.trees.shapes import fixed_tree, sequoia_tree
from minispec.engine.model.toy import TableModel
from minispec.engine.records import Step, Verdict
from minispec.engine.verifiers import get_verifier
from minispec.lab.measure.record import acceptance_by_rank
from tests.engine.drafters.laws import PLAIN, drafted_run


def step_of(parents: tuple[int, ...] | None, path: tuple[int, ...] | None, size: int = 0) -> Step:
    drafted = tuple(range(size if parents is None else len(parents)))
    verdict = Verdict(len(path or ()), 99, "recovered", path=path)
    return Step(0, 0, drafted, verdict, (99,), ("recovered",), draft_parents=parents)


@st.composite
def trees(draw):
    """Parents of a tree of up to eight nodes, and a path that the target may keep."""
    parents = tuple(draw(st.integers(-1, i - 1)) for i in range(draw(st.integers(1, 8))))
    path, node = [], -1
    while children := [i for i, parent in enumerate(parents) if parent == node]:
        node = draw(st.sampled_from([None, *children]))
        if node is None:
            break
        path.append(node)
    return parents, tuple(path)


@given(st.lists(trees(), min_size=1, max_size=6))
def test_it_is_the_share_of_the_nodes_that_were_reached(found):
    """Counted from the nodes: every node but the root has a rank, and was offered if its parent was reached."""
    offered: dict[int, list[bool]] = {}
    for parents, path in found:
        for node, parent in enumerate(parents):
            if parent == -1 or parent in path:
                rank = sum(other == parent for other in parents[:node])
                offered.setdefault(rank, []).append(node in path)
    wanted, least = [], 1.0
    for rank in range(len(offered)):
        least = min(least, sum(offered[rank]) / len(offered[rank]))
        wanted.append(least)
    assert acceptance_by_rank(step_of(*each) for each in found) == pytest.approx(tuple(wanted))


def test_chains_have_no_ranks():
    assert acceptance_by_rank([step_of(None, None, 3), step_of(None, None)]) == ()
    assert acceptance_by_rank([step_of(None, None, 3), step_of((-1,), (0,))]) == (1.0,)


@pytest.mark.parametrize("seed", range(3))
def test_a_run_says_how_its_tree_was_kept(seed):
    """A draft that is the target: q is p, so the first sibling is always kept."""
    target = TableModel(4, 64, seed=seed)
    tree = get_verifier("tree").verify
    run = drafted_run(target, lambda _: new_tree(target), [1, 2], PLAIN, 41, verify=tree, seed=seed)
    first, second = acceptance_by_rank(run.steps)
    assert (first, second) == (1.0, 0.0)
    assert all(step.draft_parents == (-1, -1, 0, 0, 1, 1) for step in run.steps[1:6])


def new_tree(model):
    return FixedTreeDrafter(ModelSource(model), PLAIN, fixed_tree([2, 2]), num_slots=64)


def test_a_shape_is_made_of_it():
    shares = acceptance_by_rank([step_of((-1, -1, 0), (0,)), step_of((-1, -1, 0), (1,)), step_of((-1, -1, 0), (0, 2))])
    assert shares == (pytest.approx(3 / 5), pytest.approx(1 / 3))
    assert sequoia_tree(shares, 4).expected_tokens(shares) == pytest.approx(1 + 3 / 5 + 9 / 25 + 1 / 3)
