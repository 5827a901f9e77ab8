"""Trees that grow where the draft is confident: the likeliest paths there are, and lossless all the same."""

from __future__ import annotations

import itertools
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.engine.drafters import DynamicTreeDrafter, ModelSource
from minispec.engine.drafters.trees import dynamic
from minispec.engine.laws import Enumerator, total_variation
from minispec.engine.model import Session
from minispec.engine.model.toy import TableModel
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.sampling import distribution
from tests.models import Counted, random_gpt2

from .laws import GREEDY, PLAIN, propose, while_true
from .test_trees import SIBLINGS, ancestors, decode, plain_law


def new_tree(model, num_nodes, siblings, params=PLAIN, *, depth=None, num_slots=99):
    return DynamicTreeDrafter(ModelSource(model), params, num_nodes, siblings, depth=depth, num_slots=num_slots)


def paths_of(draft):
    return [tuple(draft.tokens[i] for i in ancestors(draft.parents, node)) for node in range(len(draft))]


def likelihood(model, prompt, path):
    value = 1.0
    for i, token in enumerate(path):
        row = distribution(Session(model).score([*prompt, *path[:i]], num_logits=1), PLAIN)[0]
        value *= row[token]
    return value


@given(st.integers(0, 50), st.integers(1, 12), st.integers(1, 3))
def test_it_holds_the_likeliest_paths_of_all(seed, num_nodes, depth):
    model, prompt = TableModel(4, seed=seed), [0, 1]
    draft = propose(new_tree(model, num_nodes, "likeliest"), prompt, depth)
    everything = [path for n in range(1, depth + 1) for path in itertools.product(range(4), repeat=n)]
    best = sorted((likelihood(model, prompt, path) for path in everything), reverse=True)[:num_nodes]
    found = sorted((likelihood(model, prompt, path) for path in paths_of(draft)), reverse=True)
    assert found == pytest.approx(best, rel=1e-9)
    assert list(draft.parents) == sorted(draft.parents)
    assert all(parent < node for node, parent in enumerate(draft.parents))


@pytest.mark.parametrize("siblings", SIBLINGS[:2])
def test_drawn_siblings_have_the_shape_of_the_likeliest_where_all_are_drawn_so(siblings):
    """Shapes follow the rows and not what was drawn: with one level, the same for every seed."""
    model = TableModel(5, seed=3)
    wanted = propose(new_tree(model, 4, "likeliest"), [0, 1], 1).parents
    for seed in range(20):
        draft = propose(new_tree(model, 4, siblings), [0, 1], 1, PhiloxNoise(seed))
        assert draft.parents == wanted == (-1,) * 4


@pytest.mark.parametrize("siblings", SIBLINGS[:2])
def test_dropping_what_was_drawn_for_being_unlikely_is_noticed(siblings):
    """The control: nodes are ranked by the probability of the tokens that were drawn."""
    target, model, prompt = TableModel(3, seed=1), TableModel(3, seed=2), (0, 1)

    def rank_by_draws(nodes, offers, size):
        for node in nodes:
            node.value = node.parent.value * float(node.probs[node.path[-1]])
        return keep_best(nodes, offers, size)

    def run(noise):
        return decode(noise, target, new_tree(model, 2, siblings), PLAIN, prompt, 3, 9)

    keep_best = dynamic._keep_best
    with mock.patch.object(dynamic, "_keep_best", rank_by_draws):
        assert total_variation(Enumerator(run).law(), plain_law(target, PLAIN, prompt, 3)) > 1e-3


@pytest.mark.parametrize("siblings", SIBLINGS)
def test_at_temperature_0_only_the_likeliest_branch(siblings):
    """A one-hot row has no second token to draw; the draft's own distribution has."""
    draft = propose(new_tree(TableModel(4, seed=2), 6, siblings, GREEDY), [0, 1], 4)
    assert (len(set(draft.parents)) < len(draft)) == (siblings == "likeliest")
    assert len(draft) == (6 if siblings == "likeliest" else 4)


def test_only_what_is_kept_so_far_is_fed():
    """Each level feeds the nodes that are among the best: those on the way to what is kept, and none twice."""
    model = Counted(random_gpt2(n_positions=60))
    draft = propose(new_tree(model, 8, "likeliest"), [1, 2, 3], 5)
    inner = len(set(draft.parents) - {-1})
    assert 3 + inner <= model.num_fed <= 3 + 8 * 4


def test_depth_and_size_fit_what_is_left():
    model = TableModel(4, 10, seed=1)
    for siblings in SIBLINGS:
        for gamma in range(4):
            draft = propose(new_tree(model, 6, siblings), [0, 1], gamma)
            assert len(draft) == (0, 4, 6, 6)[gamma]
            assert max((len(path) for path in paths_of(draft)), default=0) <= gamma
        assert max(len(path) for path in paths_of(propose(new_tree(model, 6, siblings, depth=1), [0, 1], 9))) == 1
        nine = [0, 1, 2, 3, 0, 1, 2, 3, 0]
        assert len(propose(new_tree(model, 6, siblings), nine, 9)) == 1
        assert len(propose(new_tree(model, 6, siblings), [*nine, 1], 9)) == 0
        assert len(propose(new_tree(model, 6, siblings, num_slots=4), [0, 1], 9)) == 2
        assert len(propose(new_tree(TableModel(4, 7, seed=1), 5, siblings), [0, 1], 9)) <= 5  # five slots to feed


def test_it_asks_for_more_per_node():
    model, asked = TableModel(3, seed=2), []
    more = while_true(lambda row: not asked.append(row) and len(asked) != 2)
    draft = propose(new_tree(model, 6, "without replacement"), [0, 1], 2, more=more)
    assert len(asked) == 4
    assert 0 not in draft.parents
    assert set(draft.parents) == {-1, 1, 2}
