"""Trees: shapes, scoring nodes that share a cache, and the drafter that fills a shape."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.engine.drafters import FixedTreeDrafter, ModelDrafter, ModelSource
from minispec.engine.drafters.base import allow_all
from minispec.engine.drafters.trees import shapes
from minispec.engine.drafters.trees.shapes import MAX_NODES
from minispec.engine.model import Session
from minispec.engine.model.asks import answer
from minispec.engine.model.toy import TableModel
from minispec.engine.model.tree_session import TreeSession
from minispec.engine.noise import Coins
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.sampling import SamplingParams, distribution
from minispec.engine.verifiers import tree as tree_rule
from minispec.errors import InvariantError, OptionError
from tests.models import bits, random_gpt2

from .laws import EXACT, GREEDY, PLAIN, check_rows_are_the_law, propose, while_true

SEQUOIA = (0.6, 0.15, 0.08, 0.04)
SIBLINGS = ("with replacement", "without replacement", "likeliest")
PARAMS = {"plain": PLAIN, "greedy": GREEDY, "top-k": SamplingParams(1.0, 2, 1.0, 0.0)}


# Shapes


def test_fixed_shape():
    shape = shapes.fixed_tree((3, 2, 1))
    assert shape.parents == (-1, -1, -1, 0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8)
    assert shape.ranks == (0, 1, 2, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0)
    assert shape.depths == (1,) * 3 + (2,) * 6 + (3,) * 6
    assert len(shape) == 15


@pytest.mark.parametrize(
    ("num_nodes", "expected"),
    [(1, 1.0), (2, 1.6), (3, 1.96), (4, 2.176), (5, 2.326), (8, 2.6356), (16, 3.098), (32, 3.5303), (64, 3.926)],
)
def test_sequoia_reaches_the_known_values(num_nodes, expected):
    shape = shapes.sequoia_tree(SEQUOIA, num_nodes)
    assert len(shape) == num_nodes - 1
    assert shape.expected_tokens(SEQUOIA) == pytest.approx(expected, abs=5.1e-5)


def test_a_chain_of_the_same_size_is_worse():
    for nodes, expected in ((5, 2.3056), (8, 2.458)):
        assert shapes.fixed_tree((1,) * (nodes - 1)).expected_tokens(SEQUOIA) == pytest.approx(expected, abs=5.1e-5)


def programme(acceptance, num_nodes, depth):
    """Sequoia's dynamic programme: the most expected tokens of exactly ``num_nodes`` nodes, -inf without room."""

    @functools.cache
    def best(levels, nodes, width):
        if nodes == 1:
            return 1.0
        if width == 0 or levels == 0:
            return -math.inf
        return max(
            best(levels, nodes, width - 1),
            *(
                best(levels, nodes - size, width - 1) + acceptance[width - 1] * best(levels - 1, size, len(acceptance))
                for size in range(1, nodes)
            ),
        )

    return best(depth, num_nodes, len(acceptance))


@given(
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=4).map(lambda row: sorted(row, reverse=True)),
    st.integers(1, 12),
    st.integers(1, 6),
)
def test_sequoia_equals_its_dynamic_programme(acceptance, num_nodes, depth):
    shape = shapes.sequoia_tree(acceptance, num_nodes, depth)
    wanted = max(programme(tuple(acceptance), n, depth) for n in range(1, num_nodes + 1))
    assert shape.expected_tokens(acceptance) == pytest.approx(wanted, abs=EXACT)
    assert max(shape.depths, default=0) <= depth
    levels = shape.depths
    assert list(levels) == sorted(levels)
    for node, (parent, rank) in enumerate(zip(shape.parents, shape.ranks, strict=True)):
        assert parent < node
        elder = [r for p, r in zip(shape.parents[:node], shape.ranks[:node], strict=True) if p == parent]
        assert elder == list(range(rank))


@pytest.mark.parametrize("widths", [(), (0,), (4, 0), (2, -1), (MAX_NODES,), (9999, 9999)])
def test_bad_fixed_shapes(widths):
    with pytest.raises(OptionError, match="Try tree:shape=4x2x1"):
        shapes.fixed_tree(widths)


@pytest.mark.parametrize(
    ("acceptance", "nodes", "depth"),
    [
        ((0.5,), 0, None),
        ((0.5,), MAX_NODES + 1, None),
        ((), 4, None),
        ((0.2, 0.5), 4, None),
        ((1.5,), 4, None),
        ((0.5, -0.1), 4, None),
        ((float("nan"),), 4, None),
        ((0.5,), 4, 0),
    ],
)
def test_bad_sequoia_options(acceptance, nodes, depth):
    with pytest.raises(OptionError, match="Try"):
        shapes.sequoia_tree(acceptance, nodes, depth)


# Scoring a tree


TREES = [
    ((5, 6, 7), (-1, 0, 1)),
    ((5, 6, 7), (-1, -1, -1)),
    ((5, 6, 7, 8, 9, 5), (-1, -1, 0, 0, 1, 3)),
    ((5, 5, 6, 6), (-1, -1, 0, 1)),
    ((), ()),
]


def ancestors(parents, node):
    path = []
    while node >= 0:
        path.append(node)
        node = parents[node]
    return path[::-1]


@pytest.mark.parametrize("model", [random_gpt2(n_layer=3), TableModel(10, seed=1)], ids=["gpt2", "table"])
@pytest.mark.parametrize(("nodes", "parents"), TREES)
@pytest.mark.parametrize("chain", [[3], [1, 2, 3]])
def test_a_node_scores_as_the_end_of_its_own_chain_bit_by_bit(model, nodes, parents, chain):
    session = TreeSession(model)
    session.prefill([9, 8])
    logits = session.score_tree(chain, nodes, parents)
    assert logits.shape == (1 + len(nodes), model.vocab_size)
    assert session.tokens == [9, 8, *chain]
    for node in range(-1, len(nodes)):
        alone = Session(model)
        alone.prefill([9, 8])
        path = [nodes[i] for i in ancestors(parents, node)]
        assert bits(logits[node + 1 : node + 2]) == bits(alone.score([*chain, *path], num_logits=1))


@pytest.mark.parametrize("model", [random_gpt2(n_layer=3), TableModel(10, seed=1)], ids=["gpt2", "table"])
@pytest.mark.parametrize(("nodes", "parents"), TREES)
def test_keeping_a_path_is_having_fed_it(model, nodes, parents):
    for node in range(-1, len(nodes)):
        session, chain = TreeSession(model), TreeSession(model)
        session.score_tree([1, 2, 3], nodes, parents)
        path = ancestors(parents, node)
        session.keep(path)
        chain.score([1, 2, 3, *(nodes[i] for i in path)])
        assert session.tokens == chain.tokens
        length = chain.length
        assert session.cache.lengths == chain.cache.lengths
        assert bits(session.cache.keys[:, :, :length]) == bits(chain.cache.keys[:, :, :length])
        assert bits(session.cache.values[:, :, :length]) == bits(chain.cache.values[:, :, :length])
        assert bits(session.score([4, 5])) == bits(chain.score([4, 5]))


@pytest.mark.parametrize("model", [random_gpt2(n_layer=2), TableModel(10, seed=1)], ids=["gpt2", "table"])
def test_growing_a_tree_is_feeding_it_at_once(model):
    nodes, parents = (5, 6, 7, 8, 9, 5), (-1, -1, 0, 0, 1, 3)
    at_once, grown = TreeSession(model), TreeSession(model)
    expected = at_once.score_tree([1, 2], nodes, parents)
    parts = [grown.score_tree([1, 2], nodes[:2], parents[:2])]
    parts += [grown.grow_tree(nodes[2:5], parents[2:5]), grown.grow_tree(nodes[5:], parents[5:])]
    assert bits(np.concatenate(parts)) == bits(expected)
    assert grown.find_path([5, 8, 5, 1]) == [0, 3, 5]
    assert grown.find_path([4]) == []


@pytest.mark.parametrize("forget", ["score", "rollback", "score_tree"])
def test_a_tree_that_is_not_kept_leaves_no_trace(forget):
    model = random_gpt2()
    session, plain = TreeSession(model), Session(model)
    session.score_tree([1, 2], (5, 6), (-1, -1))
    plain.score([1, 2])
    if forget == "rollback":
        session.rollback(2)
        assert session.cache.lengths == plain.cache.lengths
    scored = session.score_tree([3], (), ()) if forget == "score_tree" else session.score([3])
    assert bits(scored) == bits(plain.score([3]))
    with pytest.raises(InvariantError, match="no path"):
        session.keep([0])


def test_what_is_no_tree_is_refused():
    session = TreeSession(TableModel(10))
    for parents in [(0,), (-2,), (-1, 5)]:
        with pytest.raises(InvariantError, match="before their children"):
            session.score_tree([1], range(len(parents)), parents)
    with pytest.raises(InvariantError, match="at least that one"):
        session.score_tree([], (1,), (-1,))
    session.score_tree([1], (2, 3, 4), (-1, 0, -1))
    for path in [(1,), (0, 2), (2, 1), (3,), (-1,)]:
        with pytest.raises(InvariantError, match="no path"):
            session.keep(path)


# The drafter


def new_tree(model, widths, siblings, params=PLAIN, num_slots=99):
    return FixedTreeDrafter(ModelSource(model), params, shapes.fixed_tree(widths), siblings, num_slots=num_slots)


@pytest.mark.parametrize("params", PARAMS.values(), ids=PARAMS)
@pytest.mark.parametrize("siblings", SIBLINGS)
@pytest.mark.parametrize("widths", [(2,), (2, 1), (1, 2)])
def test_rows_are_the_law(widths, siblings, params):
    model = TableModel(3, seed=2)
    drafts = check_rows_are_the_law(lambda: new_tree(model, widths, siblings, params), [0, 1], 9)
    for _, draft in drafts.values():
        for node, parent in enumerate(draft.parents):
            prefix = [0, 1, *(draft.tokens[i] for i in ancestors(draft.parents, parent))]
            probs = distribution(Session(model).score(prefix, num_logits=1), params)[0]
            elder = [draft.tokens[i] for i in range(node) if draft.parents[i] == parent]
            if siblings == "likeliest":
                order = np.argsort(-Session(model).score(prefix, num_logits=1)[0], kind="stable")
                assert draft.tokens[node] == order[len(elder)]
                assert draft.probs[node].max() == draft.probs[node].sum() == 1.0
                continue
            if siblings == "without replacement":
                probs = probs.copy()
                probs[elder] = 0.0
                probs /= probs.sum()
                assert draft.tokens[node] not in elder
            assert draft.probs[node] == pytest.approx(probs, abs=EXACT)


@pytest.mark.parametrize("siblings", SIBLINGS)
def test_rows_of_a_deep_tree_are_those_of_its_chains(siblings):
    model, prompt = random_gpt2(n_layer=3), [1, 2, 3]
    draft = propose(new_tree(model, (2, 3, 2, 1), siblings), prompt, 9, PhiloxNoise(2))
    for node, parent in enumerate(draft.parents):
        if parent in draft.parents[:node]:
            continue  # a younger sibling: its row may be what its elders left
        prefix = [*prompt, *(draft.tokens[i] for i in ancestors(draft.parents, parent))]
        probs = distribution(Session(model).score(prefix, num_logits=1), PLAIN)[0]
        if siblings == "likeliest":
            assert draft.tokens[node] == probs.argmax()
        else:
            assert bits(draft.probs[node]) == bits(probs)


def decode(noise, target, drafter, params, prompt, num_tokens, gamma):
    """Decode with trees: draft, score, judge, keep the accepted path, go on."""
    session, tokens, step = TreeSession(target), list(prompt), 0
    session.prefill(prompt[:-1])
    answer(drafter.prefill(prompt[:-1]))
    end = len(prompt) + num_tokens
    while len(tokens) < end:
        coins = Coins(noise, position=len(tokens), step=step)
        draft = answer(drafter.propose(tokens, min(gamma, end - len(tokens) - 1), coins, allow_all))
        logits = session.score_tree(tokens[session.length :], draft.tokens, draft.parents or ())
        verdict = tree_rule.verify(draft, distribution(logits, params), coins)
        session.keep(verdict.accepted)
        tokens += [*(draft.tokens[i] for i in verdict.accepted), verdict.next_token]
        session.rollback(len(tokens) - 1)
        drafter.rollback(len(tokens) - 1)
        step += 1
    return tuple(tokens[len(prompt) :])


def plain_law(target, params, prompt, num_tokens):
    law = {(): 1.0}
    for _ in range(num_tokens):
        law = {
            (*tokens, x): prob * p
            for tokens, prob in law.items()
            for x, p in enumerate(
                distribution(Session(target).score([*prompt, *tokens], num_logits=1), params)[0].tolist()
            )
            if p > 0.0
        }
    return law


@pytest.mark.parametrize("siblings", SIBLINGS)
def test_a_chain_shape_draws_what_a_model_drafter_draws(siblings):
    model = random_gpt2()
    params = GREEDY if siblings == "likeliest" else PLAIN
    tree = propose(new_tree(model, (1, 1, 1), siblings, params), [1, 2, 3], 3, PhiloxNoise(5))
    chain = propose(ModelDrafter(Session(model), params), [1, 2, 3], 3, PhiloxNoise(5))
    assert tree.parents == (-1, 0, 1)
    assert bits(tree.probs[0]) == bits(chain.probs[0])


def test_depth_and_size_fit_what_is_left():
    model = TableModel(4, 10, seed=1)
    for siblings, gamma in itertools.product(SIBLINGS, range(4)):
        draft = propose(new_tree(model, (2, 2, 2), siblings), [0, 1], gamma)
        assert len(draft) == sum(2**level for level in range(1, gamma + 1)) if gamma < 3 else len(draft) == 8
    nine = [0, 1, 2, 3, 0, 1, 2, 3, 0]
    assert len(propose(new_tree(model, (2, 2), "without replacement"), nine, 9)) == 1  # one slot beside nine tokens
    assert len(propose(new_tree(model, (2, 2), "without replacement"), [*nine, 1], 9)) == 0
    assert len(propose(new_tree(model, (2, 2), "without replacement", num_slots=4), [0, 1], 9)) == 2
    assert len(propose(new_tree(TableModel(4, 1), (2, 2), "without replacement"), [0, 1], 9)) == 0


@pytest.mark.parametrize("siblings", SIBLINGS)
def test_a_used_up_support_gives_fewer_siblings(siblings):
    one = propose(new_tree(TableModel(1), (3, 1), siblings), [0], 9)
    assert len(one) == (6 if siblings == "with replacement" else 2)


def test_it_asks_for_more_per_node():
    model = TableModel(3, seed=2)
    asked = []
    more = while_true(lambda row: not asked.append(row) and len(asked) != 2)
    draft = propose(new_tree(model, (2, 2), "without replacement"), [0, 1], 9, more=more)
    assert len(asked) == 3
    assert draft.parents == (-1, -1, 1, 1)
    check_rows_are_the_law(
        lambda: new_tree(model, (2, 2), "without replacement"), [0, 1], 9, while_true(lambda row: row.max() > 0.5)
    )
