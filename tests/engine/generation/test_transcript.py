"""A step's seconds, and its details: the row, the node and the coin of each emitted token, on chains and on trees."""

from __future__ import annotations

import math

import numpy as np
import pytest

from minispec.engine.generation import transcript
from minispec.engine.generation.transcript import Stopwatch
from minispec.engine.records import Draft, Verdict

V = 5
ROWS = np.random.default_rng(3).dirichlet([1.0] * V, size=5)  # a row for the text and one behind each of four nodes
UNPROCESSED = np.random.default_rng(5).dirichlet([1.0] * V, size=5)
LOGITS = (np.log(UNPROCESSED) + np.arange(5)[:, None]).astype(np.float32)  # every row shifted by another constant


def draft(parents: tuple[int, ...] | None) -> Draft:
    return Draft((1, 2, 3, 4), np.random.default_rng(4).dirichlet([1.0] * V, size=4), parents)


def test_a_tree_reads_the_row_behind_the_node_before() -> None:
    """Nodes 1 and 3 were kept: row 0 judged node 1, row 2 (behind node 1) node 3, row 4 (behind it) the next token."""
    tree = draft((-1, -1, 0, 1))
    found = transcript.describe_tokens(LOGITS, ROWS, tree, Verdict(2, 0, "bonus", (0.2, 0.3, 0.4), path=(1, 3)))
    assert [detail.target_prob for detail in found] == [ROWS[0, 2], ROWS[2, 4], ROWS[4, 0]]
    assert [detail.draft_prob for detail in found] == [tree.probs[1, 2], tree.probs[3, 4], None]
    assert [detail.accept_prob for detail in found] == [None, None, None]
    for detail, (row, token) in zip(found, [(0, 2), (2, 4), (4, 0)], strict=True):
        assert detail.logprob == pytest.approx(math.log(UNPROCESSED[row, token]), abs=1e-6)
        assert detail.processed_logprob == math.log(ROWS[row, token])


def test_a_chain_has_the_coin_of_each_place() -> None:
    found = transcript.describe_tokens(LOGITS, ROWS, draft(None), Verdict(2, 0, "recovered", (0.9, 0.8, 0.1)))
    assert [detail.accept_prob for detail in found] == [0.9, 0.8, None]
    assert [detail.target_prob for detail in found] == [ROWS[0, 1], ROWS[1, 2], ROWS[2, 0]]


@pytest.mark.parametrize(
    ("parents", "rows"), [(None, (0, 1, 2, 3)), ((-1, -1, 0, 1), (0, 0, 1, 2)), ((-1, 0, 0, 2), (0, 1, 1, 3))]
)
def test_a_drafted_token_has_p_of_the_row_behind_its_parent(
    parents: tuple[int, ...] | None, rows: tuple[int, ...]
) -> None:
    """Row 0 follows the text, row n + 1 follows node n; on a chain a parent is the token before."""
    found = transcript.find_target_probs(ROWS, draft(parents))
    assert found == tuple(ROWS[row, token] for row, token in zip(rows, (1, 2, 3, 4), strict=True))


def test_a_step_is_its_drafting_its_forward_and_the_rest_without_the_consumer() -> None:
    now = [0.0]
    watch = Stopwatch(lambda: now[0])
    watch.start()
    now[0] = 1.0
    watch.note_draft()
    now[0] = 50.0  # a slow consumer looks at the draft
    watch.resume()
    now[0] = 53.0
    watch.note_forward()
    now[0] = 58.0  # sampling and the rule
    watch.stop()
    assert (watch.draft_s, watch.target_s, watch.step_s) == (1.0, 3.0, 9.0)
