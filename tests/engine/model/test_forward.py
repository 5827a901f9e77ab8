"""The forward equals Hugging Face's on golden checkpoints, and equals itself however its input is cut."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from minispec.engine.backends import BACKENDS, get_backend
from minispec.engine.loading import load_model
from minispec.engine.loading.checkpoint import Checkpoint
from minispec.engine.model.forward import forward
from minispec.engine.model.weights import build_weights
from minispec.errors import InvariantError, OptionError, PromptError
from tests.golden.make_goldens import CASES
from tests.models import bits, random_gpt2

GOLDEN = Path(__file__).resolve().parents[2] / "golden"

# Ours and Hugging Face's sums run in different orders: float32 rounding, some 1e-6 after a few layers. 1e-4 is what the
# project promises; a wrong epsilon, a wrong GELU or a missing scale is beyond it (see the negative control).
TOLERANCE = 1e-4


def load_golden(case: str, backend: str):
    golden = np.load(GOLDEN / case / "logits.npz")
    return load_model(GOLDEN / case, backend=backend), golden["tokens"].tolist(), golden["logits"]


def assert_close(found, expected):
    worst = np.max(np.abs(found - expected) / np.maximum(1.0, np.abs(expected)))
    assert worst <= TOLERANCE, f"off by {worst}"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", CASES)
class TestGolden:
    def test_all_at_once(self, case, backend):
        model, tokens, expected = load_golden(case, backend)
        assert len(tokens) == model.n_positions  # the last context slot is among them
        found = model.logits(tokens)
        assert found.dtype == np.float32
        assert_close(found, expected)

    def test_cached_token_by_token(self, case, backend):
        model, tokens, expected = load_golden(case, backend)
        cache = model.new_cache()
        assert_close(np.concatenate([model.forward([token], cache) for token in tokens]), expected)

    def test_cached_in_uneven_chunks(self, case, backend):
        model, tokens, expected = load_golden(case, backend)
        session, parts = model.session(), np.split(tokens, [5, 6, 13, 23])
        assert_close(np.concatenate([session.score(part.tolist()) for part in parts]), expected)


def distance(found, expected):
    return np.sqrt(np.mean(np.square(found.astype(float) - expected)))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", CASES)
def test_keys_and_values_in_float16_are_those_of_a_cache_that_rounds(case, backend):
    """A number halfway between two halves may round to either, as its last bits fall: some do, of a thousand."""
    golden = np.load(GOLDEN / case / "logits.npz")
    model, tokens = load_model(GOLDEN / case, backend=backend, kv_dtype="float16"), golden["tokens"].tolist()
    session = model.session()
    found = np.concatenate([session.score(part.tolist()) for part in np.split(tokens, [5, 6, 13, 23])])
    rounding = distance(golden["logits"], golden["halves"])
    assert rounding > 1e-5  # the control: what the format changes is beyond what the order of sums does
    assert distance(found, golden["halves"]) < 0.3 * rounding


@pytest.mark.parametrize(
    "change",
    [
        {"layer_norm_epsilon": 1e-3},
        {"activation_function": "gelu"},
        {"scale_attn_weights": False},
        {"scale_attn_by_inverse_layer_idx": True},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_tolerance_tells_every_option_apart(change):
    """Negative control: each option, set wrong, is far outside the tolerance."""
    model, tokens, expected = load_golden("gelu_new", "numpy")
    config = type(model.config)(**{**_fields(model.config), **change})
    weights = build_weights(Checkpoint(GOLDEN / "gelu_new").read, config, model.backend)
    wrong = type(model)("wrong", config, weights, model.backend)
    with pytest.raises(AssertionError, match="off by"):
        assert_close(wrong.logits(tokens), expected)


def _fields(config):
    return {name: getattr(config, name) for name in type(config).__dataclass_fields__}


class TestNumLogits:
    def test_the_last_rows_are_those_of_all_rows(self):
        model = random_gpt2()
        tokens = list(range(9))
        everything = model.logits(tokens)
        for count in range(len(tokens) + 1):
            found = model.forward(tokens, model.new_cache(), num_logits=count)
            assert found.shape == (count, model.vocab_size)
            assert bits(found) == bits(everything[len(tokens) - count :])

    @pytest.mark.parametrize("count", [-1, 4])
    def test_more_logits_than_tokens_are_refused(self, count):
        model = random_gpt2()
        with pytest.raises(InvariantError):
            model.forward([1, 2, 3], model.new_cache(), num_logits=count)

    def test_no_tokens_give_no_logits(self):
        for backend in BACKENDS:
            model = random_gpt2(backend=backend)
            cache = model.new_cache()
            model.forward([1, 2], cache)
            assert model.forward([], cache).shape == (0, model.vocab_size)
            assert cache.length == 2


class TestRefusals:
    def test_a_full_cache_refuses_and_is_unchanged(self):
        model = random_gpt2()
        cache = model.new_cache(capacity=4)
        model.forward([1, 2, 3], cache)
        before = (bits(cache.keys), bits(cache.values), list(cache.lengths))
        with pytest.raises(InvariantError, match="slot 4"):
            model.forward([4, 5], cache)
        assert before == (bits(cache.keys), bits(cache.values), list(cache.lengths))

    def test_a_mask_that_is_too_narrow_is_refused(self):
        model = random_gpt2()
        cache = model.new_cache()
        model.forward([1, 2, 3], cache)
        with pytest.raises(InvariantError, match="mask"):
            _forward(model, [4, 5], cache, visible=np.ones((2, 4), bool))

    @pytest.mark.parametrize("tokens", [[[1]], [[1, 2], [3, 4]]])
    def test_what_is_no_row_of_ids_is_refused(self, tokens):
        with pytest.raises(OptionError, match="token ids must be integers in a row"):
            random_gpt2().logits(tokens)

    def test_no_layers_are_refused(self):
        model = random_gpt2()
        with pytest.raises(InvariantError, match="0 layers"):
            _forward(model, [1], model.new_cache(), num_layers=0)

    @pytest.mark.parametrize("tokens", [[], list(range(65))], ids=["none", "too many"])
    def test_logits_wants_as_many_tokens_as_the_context_holds(self, tokens):
        with pytest.raises(PromptError, match="1 to 64"):
            random_gpt2().logits(tokens)

    @pytest.mark.parametrize("token", [-1, 97, 0.5, True])
    def test_logits_wants_ids_of_the_vocabulary(self, token):
        with pytest.raises(OptionError, match="0 to 96"):
            random_gpt2().logits([token])


def _forward(model, tokens, cache, **options):
    return forward(model.weights, model.config, model.backend, cache.feed(tokens, **options), cache)


class TestTree:
    """A tree of candidates in one forward: explicit positions and a mask. The law: each path has the chain's bits."""

    PREFIX = (3, 1, 4, 1, 5)
    # node: (token, parent); parent -1 is the last token of the prefix. Siblings, cousins, and a chain of three.
    NODES = ((10, -1), (11, -1), (12, 0), (13, 0), (14, 1), (15, 2), (10, 4))

    def paths(self):
        def ancestors(node):
            return [] if node == -1 else [*ancestors(self.NODES[node][1]), node]

        return [ancestors(node) for node in range(len(self.NODES))]

    def feed(self, model, cache, width=None):
        n = len(self.PREFIX)
        model.forward(self.PREFIX, cache)
        paths = self.paths()
        visible = np.zeros((len(self.NODES), width or n + len(self.NODES)), bool)
        visible[:, :n] = True
        for node, path in enumerate(paths):
            visible[node, [n + i for i in path]] = True
        positions = [n + len(path) - 1 for path in paths]
        return _forward(model, [t for t, _ in self.NODES], cache, positions=positions, visible=visible)

    @pytest.mark.parametrize("width", [None, 64], ids=["used slots", "whole capacity"])
    def test_each_path_has_the_bits_of_its_chain(self, width):
        model = random_gpt2(n_embd=96, n_head=4)
        logits = self.feed(model, model.new_cache(), width)
        for node, path in enumerate(self.paths()):
            chain = model.logits([*self.PREFIX, *(self.NODES[i][0] for i in path)])
            assert bits(logits[node]) == bits(chain[-1])

    def test_the_reference_backend_agrees_up_to_rounding(self):
        model = random_gpt2(backend="numpy")
        logits = self.feed(model, model.new_cache())
        for node, path in enumerate(self.paths()):
            assert_close(logits[node], model.logits([*self.PREFIX, *(self.NODES[i][0] for i in path)])[-1])

    def test_keep_leaves_the_cache_of_the_accepted_chain(self):
        model = random_gpt2(n_embd=96, n_head=4)
        n = len(self.PREFIX)
        for path in self.paths():
            tree, chain = model.new_cache(), model.new_cache()
            self.feed(model, tree)
            tree.keep([*range(n), *(n + i for i in path)])
            tokens = [*self.PREFIX, *(self.NODES[i][0] for i in path)]
            model.forward(tokens, chain)
            assert tree.lengths == chain.lengths
            for name in ("keys", "values"):
                assert bits(getattr(tree, name)[:, 0, : len(tokens)]) == bits(getattr(chain, name)[:, 0, : len(tokens)])
            assert bits(model.forward([7, 8], tree)) == bits(
                model.forward([7, 8], chain)
            )  # and it goes on as the chain

    def test_what_a_mask_hides_does_not_count(self):
        """Not even values of 1e30: a hidden slot has weight exactly 0."""
        for backend in BACKENDS:
            model = random_gpt2(backend=backend)
            clean, dirty = model.new_cache(), model.new_cache()
            for cache in (clean, dirty):
                model.forward([1, 2, 3, 4], cache)
            dirty.keys[:, 0, 2] = dirty.values[:, 0, 2] = 1e30
            visible = np.array([[True, True, False, True, True]])
            found = [_forward(model, [5], cache, visible=visible) for cache in (clean, dirty)]
            assert bits(found[0]) == bits(found[1])

    def test_a_mask_in_another_memory_layout_gives_the_same_bits(self):
        model = random_gpt2()
        visible = np.tril(np.ones((6, 6), bool))
        visible[4, 2] = False
        found = [
            _forward(model, [1, 2, 3, 4, 5, 6], model.new_cache(), visible=mask)
            for mask in (visible, np.asfortranarray(visible), np.repeat(visible, 2, axis=1)[:, ::2])
        ]
        assert bits(found[0]) == bits(found[1]) == bits(found[2])


class TestPartialForward:
    """A self-draft's first layers run ahead; the full forward then redoes them with the same result."""

    def test_first_layers_equal_a_model_cut_short(self):
        model = random_gpt2(n_layer=3)
        short = type(model)(
            "short",
            type(model.config)(**{**_fields(model.config), "n_layer": 2}),
            type(model.weights)(**{**_slots(model.weights), "h": model.weights.h[:2]}),
            model.backend,
        )
        cache = model.new_cache()
        logits = _forward(model, [1, 2, 3], cache, num_layers=2)
        assert bits(logits) == bits(short.logits([1, 2, 3]))
        assert cache.lengths == [3, 3, 0]
        assert cache.length == 0

    def test_a_full_forward_after_running_ahead_is_a_full_forward(self):
        model = random_gpt2(n_layer=3)
        cache = model.new_cache()
        model.forward([1, 2, 3], cache)
        for token in (10, 11, 12, 13):  # drafted by the first layers; only the first two will be verified
            _forward(model, [token], cache, num_layers=1)
        assert cache.lengths == [7, 3, 3]
        logits = model.forward([10, 11], cache)  # layer 0 still holds 12 and 13 behind: they must not be seen
        assert bits(logits) == bits(model.logits([1, 2, 3, 10, 11])[-2:])
        cache.rollback(4)
        assert cache.lengths == [4, 4, 4]
        assert bits(model.forward([5], cache)) == bits(model.logits([1, 2, 3, 10, 5])[-1:])

    def test_a_masked_full_forward_after_running_ahead_sees_its_own_slots_alone(self):
        model = random_gpt2(n_layer=3)
        ahead, plain = model.new_cache(), model.new_cache()
        for cache in (ahead, plain):
            model.forward([1, 2, 3], cache)
        for token in (10, 11, 12, 13):
            _forward(model, [token], ahead, num_layers=1)
        visible = np.tril(np.ones((5, 5), bool))[3:]  # as wide as the slots this forward fills, no wider
        found = [_forward(model, [20, 21], cache, visible=visible) for cache in (ahead, plain)]
        assert bits(found[0]) == bits(found[1])


def _slots(value):
    return {name: getattr(value, name) for name in type(value).__dataclass_fields__}


def test_get_backend_names_what_there_is():
    with pytest.raises(OptionError, match="numba, numpy"):
        get_backend("cuda")
