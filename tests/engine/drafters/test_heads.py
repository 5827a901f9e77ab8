"""Heads that look inside the target: lossless with any weights, equal to their formulas, the same after any history.

Whatever a head reads, the text's law is the target's as long as each row is what its token was drawn from. So the law
says nothing about *what* is read: that is compared with a twin that computes all of it anew, without any cache.
"""

from __future__ import annotations

import json
import os
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from minispec.engine.backends.panel.backend import PanelBackend
from minispec.engine.batching import Engine
from minispec.engine.drafters import build_drafter
from minispec.engine.drafters.base import allow_all
from minispec.engine.drafters.heads import load_head
from minispec.engine.drafters.heads.parallel import ParallelDrafter
from minispec.engine.generation import Prefilled, generate, ready, stream
from minispec.engine.generation.events import Verified
from minispec.engine.laws import Enumerator
from minispec.engine.loading.checkpoint import WEIGHTS
from minispec.engine.model.asks import answer
from minispec.engine.model.cache import KVCache
from minispec.engine.model.paged import PagedCache
from minispec.engine.model.pages import PagePool
from minispec.engine.model.toy import TableModel
from minispec.engine.model.tree_session import TreeSession
from minispec.engine.noise import Coins, Noise
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.sampling import Sampler, SamplingParams, distribution
from minispec.engine.verifiers.tree import acceptance_probability
from minispec.errors import InputError, InvariantError
from tests.engine.drafters.head_twin import SIZES, WORDS, expect, features_of, softmax, target_of, target_twin
from tests.engine.drafters.random_head import write_head
from tests.engine.laws.space import EXACT, PROMPT, distance_of, layered_target
from tests.models import bits, random_gpt2

KINDS = ("medusa", "eagle", "block")
PLAIN = {"temperature": 1.0, "top_p": 1.0}


# ── the law ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@cache
def tiny_target():
    return layered_target(eos=True)


@pytest.fixture(scope="module")
def tiny_heads(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A head of each kind for the law suite's target with layers, and two that know two of its three words."""
    folder, target = tmp_path_factory.mktemp("tiny"), tiny_target()
    heads = {kind: write_head(folder / kind, kind, target) for kind in KINDS}
    cut = {f"{kind} cut": write_head(folder / f"{kind}-cut", kind, target, words=(0, 2)) for kind in KINDS[1:]}
    return heads | cut


FIXED, DYNAMIC, LIKELIEST = "shape=2x1", "shape=dynamic,nodes=5", ",siblings=likeliest"
OTHER_TREES = {"medusa": FIXED, "block": DYNAMIC, "eagle cut": FIXED}


@pytest.mark.parametrize(
    ("head", "shape"),
    [*(("eagle", shape + siblings) for shape in (FIXED, DYNAMIC) for siblings in ("", LIKELIEST)), *OTHER_TREES.items(),
     *((head, shape + LIKELIEST) for head, shape in OTHER_TREES.items())],
)  # fmt: skip
def test_the_law_with_trees_is_the_targets(tiny_heads: dict[str, str], head: str, shape: str) -> None:
    draft = f"tree:draft={head.split()[0]}:head={tiny_heads[head]},{shape}"
    assert distance(draft, "tree", 2, {}, max_tokens=4) < EXACT


@pytest.mark.parametrize(
    ("verify", "shape", "max_tokens"),
    [("kseq", "shape=2,siblings=with", 3), ("match", "shape=2x1,siblings=likeliest", 4),
     ("traversal", "shape=2x1,siblings=likeliest", 4), ("traversal", "shape=dynamic,nodes=3,siblings=with", 4)],
)  # fmt: skip
def test_the_law_of_other_rules_with_trees_is_the_targets(
    tiny_heads: dict[str, str], verify: str, shape: str, max_tokens: int
) -> None:
    draft = f"tree:draft=eagle:head={tiny_heads['eagle']},{shape}"
    assert distance(draft, verify, 2, {}, max_tokens=max_tokens) < EXACT


PROCESSORS = ({"temperature": 0.0}, {"top_k": 2, "temperature": 1.4}, {"repetition_penalty": 1.7, "min_tokens": 3})


def distance(draft: str, verify: str, gamma: int, processors: dict, max_tokens: int = 4) -> float:
    return distance_of(tiny_target(), draft, verify=verify, gamma=gamma, max_tokens=max_tokens, **processors)


@pytest.mark.parametrize(
    ("verify", "gamma"),
    [("rejection", 1), pytest.param("rejection", 3, marks=pytest.mark.slow), ("block", 2), ("tree", 2)],
)
@pytest.mark.parametrize("head", [*KINDS, "eagle cut", "block cut"])
def test_the_law_is_the_targets(tiny_heads: dict[str, str], head: str, verify: str, gamma: int) -> None:
    assert distance(f"{head.split()[0]}:head={tiny_heads[head]}", verify, gamma, {}, 5 if gamma == 3 else 4) < EXACT


@pytest.mark.parametrize("processors", PROCESSORS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_law_is_the_targets_with_processors(tiny_heads: dict[str, str], kind: str, processors: dict) -> None:
    assert distance(f"{kind}:head={tiny_heads[kind]}", "rejection", 2, processors) < EXACT


@pytest.mark.parametrize("wrong", ["the row of another place", "the row of the place, whatever was drawn before"])
def test_a_row_that_the_token_was_not_drawn_from_is_noticed(
    tiny_heads: dict[str, str], monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    """The controls: a block that reports other rows than it drew from."""

    def report(self: ParallelDrafter, *args: object) -> object:
        draft = yield from original(self, *args)
        places = distribution(self._logits[: len(draft)], SamplingParams(**PLAIN))
        return type(draft)(draft.tokens, np.roll(draft.probs, 1, axis=0) if "another" in wrong else places)

    original = ParallelDrafter.propose
    monkeypatch.setattr(ParallelDrafter, "propose", report)
    assert distance(f"block:head={tiny_heads['block']}", "rejection", 2, {}) > 1e-4


@pytest.mark.parametrize("verify", ["match", "gumbel"])
@pytest.mark.parametrize("kind", KINDS)
def test_coupled_rules_write_plain_samplings_text(tiny_heads: dict[str, str], kind: str, verify: str) -> None:
    target = layered_target(eos=False)
    head = write_head(Path(tiny_heads[kind]).parent / f"{kind}-coupled", kind, target)
    for seed in range(20):
        write = partial(generate, PROMPT, target=target, max_tokens=12, seed=seed, **PLAIN)
        assert write(draft=f"{kind}:head={head}", verify=verify, gamma=3).token_ids == write(draft=None).token_ids


# ── the formulas, computed anew without a cache ─────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def heads(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("heads")
    words = {"medusa": (), "eagle": WORDS, "block": WORDS}
    return {kind: write_head(folder / kind, kind, target_of("numba"), words=words[kind], length=4) for kind in KINDS}


def new_drafter(kind: str, folder: str, session: TreeSession, shape: str = ""):
    sampler = Sampler(SamplingParams(temperature=1.0, top_p=1.0))
    draft = f"tree:draft={kind}:head={folder},{shape}" if shape else f"{kind}:head={folder}"
    return build_drafter(draft, session, sampler, load_model=lambda name: None)


def propose(drafter, tokens, gamma: int = 3):
    return answer(drafter.propose(tokens, gamma, Coins(PhiloxNoise(0), position=len(tokens)), allow_all))


def draft_afresh(kind: str, folder: str, tokens, backend: str, shape: str = ""):
    session = TreeSession(target_of(backend))
    drafter = new_drafter(kind, folder, session, shape)
    session.prefill(tokens[:-1])
    answer(drafter.prefill(tokens[:-1]))
    return propose(drafter, tokens)


@pytest.mark.parametrize("backend", ["numpy", "numba", "panel"])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_those_of_the_formulas(heads: dict[str, str], kind: str, backend: str) -> None:
    """Over two tokens, and over more than two chunks of a prefill."""
    for length in (2, 140):
        tokens = np.random.default_rng(length).integers(0, SIZES["vocab_size"], length).tolist()
        draft = draft_afresh(kind, heads[kind], tokens, backend)
        assert len(draft) == 3
        expected = expect(kind, heads[kind], tokens, draft.tokens)
        np.testing.assert_allclose(draft.probs, expected[:3], atol=2e-5)


@pytest.mark.parametrize("backend", ["numpy", "numba", "panel"])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_along_a_tree_are_those_of_the_formulas(heads: dict[str, str], kind: str, backend: str) -> None:
    """The first child of each node was drawn from the row behind the path that leads to it."""
    for length in (2, 140):
        tokens = np.random.default_rng(length).integers(0, SIZES["vocab_size"], length).tolist()
        draft = draft_afresh(kind, heads[kind], tokens, backend, "shape=2x2x1")
        assert len(draft) == 10
        paths = list(draft.paths())  # behind the text, and behind each node
        for node in (0, 2, 4, 6, 7, 8, 9):
            path = paths[draft.parents[node] + 1]
            expected = expect(kind, heads[kind], tokens, path)[len(path)]
            np.testing.assert_allclose(draft.probs[node], expected, atol=2e-5)


CUT = {"temperature": 1.0, "top_p": 1.0, "top_k": 3}


def cut(probs: np.ndarray) -> np.ndarray:
    """What the processors of :data:`CUT` make of a distribution."""
    with np.errstate(divide="ignore"):
        return distribution(np.log(probs)[None], SamplingParams(**CUT))[0]


def think(kind: str, folder: str, tokens, path=()) -> tuple[np.ndarray, np.ndarray]:
    """What target and head say behind a path of a draft, in float64 over the whole text."""
    twin = target_twin()
    state = twin.norm(features_of([*tokens, *path])[-1][-1], "ln_f")
    wanted, drafted = softmax(state @ twin.w["wte.weight"].T, ()), expect(kind, folder, tokens, path)[-1]
    return cut(wanted), cut(drafted)


def predict_chain(kind: str, folder: str, tokens) -> float:
    """The expected tokens kept of two, each given that the one before it was kept."""
    kept = np.minimum(*think(kind, folder, tokens))
    return kept.sum() + sum(
        kept[token] * np.minimum(*think(kind, folder, tokens, (int(token),))).sum() for token in np.flatnonzero(kept)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_acceptance_is_what_each_place_predicts(heads: dict[str, str], kind: str) -> None:
    """E[kept] of the engine's first draft by enumeration: of a chain of two, and of two candidates for a place.

    The first token, which no draft reaches, is one of three: what is predicted is the mean behind them.
    """
    tokens, draft = [4, 9, 1, 0, 3, 20], f"{kind}:head={heads[kind]}"

    def measure(draft: str, gamma: int) -> float:
        options = {"target": target_of("numba"), "draft": draft, "verify": "tree", "gamma": gamma, **CUT}
        start = partial(stream, tokens, max_tokens=gamma + 2, **options)

        def kept(noise: Noise) -> int:  # and no further: what follows the first draft would be enumerated too
            return next(e.num_accepted for e in start(noise=noise) if isinstance(e, Verified) and e.step == 1)

        return sum(count * prob for count, prob in Enumerator(kept).law().items())

    firsts, _ = think(kind, heads[kind], tokens)
    assert np.count_nonzero(firsts) == 3
    chain = one_of_two = 0.0
    for first in map(int, np.flatnonzero(firsts)):
        chain += firsts[first] * predict_chain(kind, heads[kind], [*tokens, first])
        wanted, drafted = think(kind, heads[kind], [*tokens, first])
        one_of_two += firsts[first] * acceptance_probability(wanted, [drafted] * 2)
    assert measure(draft, 2) == pytest.approx(chain, abs=1e-4)
    assert measure(f"tree:draft={draft},shape=2,siblings=with", 1) == pytest.approx(one_of_two, abs=1e-4)


@pytest.mark.parametrize("backend", ["numpy", "numba", "panel"])
def test_features_are_the_residual_stream(backend: str) -> None:
    tokens = list(range(20))
    session = TreeSession(target_of(backend))
    session.cache.keep_features([1, 3])
    session.prefill(tokens)
    found = session.cache.read_features([1, 3], 0, 20)
    states = features_of(tokens)
    np.testing.assert_allclose(found, np.concatenate([states[1], states[3]], axis=1), atol=1e-4)
    assert bits(session.cache.read_features([3], 4, 9)) == bits(np.ascontiguousarray(found[4:9, 12:]))


@pytest.mark.parametrize("paged", [False, True])
def test_what_one_head_reads_stays_when_another_one_comes(paged: bool) -> None:
    """Heads of two kinds in one memory: the second asks for more layers in the middle of the first one's text."""
    model = target_of("numba")
    session = TreeSession(model)
    if paged:
        session.cache = PagedCache(PagePool(3, 3, 4, 5, 4, backend=model.backend), 20)
    session.cache.keep_features([3])
    session.prefill(range(6))
    before = session.cache.read_features([3], 0, 6)
    session.cache.keep_features([1])
    assert bits(session.cache.read_features([3], 0, 6)) == bits(before)
    session.prefill(range(10))
    states = features_of(list(range(10)))
    found = session.cache.read_features([1, 3], 6, 10)
    np.testing.assert_allclose(found, np.concatenate([states[1], states[3]], axis=1)[6:], atol=1e-4)


def test_a_head_that_was_trained_again_is_read_again(tmp_path: Path) -> None:
    """And one that was not, once only."""
    target = target_of("numba")
    folder = write_head(tmp_path, "eagle", target)
    first = load_head(folder, "eagle", target)
    assert load_head(folder, "eagle", target) is first
    write_head(tmp_path, "eagle", target, length=2)
    later = max(path.stat().st_mtime_ns for path in tmp_path.iterdir()) + 10**9  # where a clock is coarse
    for path in tmp_path.iterdir():
        os.utime(path, ns=(later, later))
    assert load_head(folder, "eagle", target).config.length == 2


# ── the same after any history ──────────────────────────────────────────────────────────────────────────────────────

STEP = st.tuples(
    st.lists(st.integers(0, 22), min_size=1, max_size=5),  # committed, as if by a step
    st.booleans(),  # a draft comes first
    st.booleans(),  # the target has scored a draft that was rejected
    st.booleans(),  # as a tree, of which a path is kept
)


@pytest.mark.parametrize("shape", ["", "shape=dynamic,nodes=7,siblings=likeliest"])
@pytest.mark.parametrize("kind", KINDS)
@given(prompt=st.lists(st.integers(0, 22), min_size=1, max_size=90), steps=st.lists(STEP, min_size=1, max_size=8))
@settings(max_examples=15)
def test_a_draft_does_not_depend_on_what_came_before(
    heads: dict[str, str], kind: str, shape: str, prompt, steps
) -> None:
    """Rejected drafts, trees, interrupted drafts and lengths of prefills leave no trace, bit for bit."""
    session = TreeSession(target_of("numba"))
    drafter, tokens = new_drafter(kind, heads[kind], session, shape), list(prompt)
    session.prefill(tokens[:-1])
    answer(drafter.prefill(tokens[:-1]))
    for committed, drafts, rejected, tree in steps:
        if drafts:
            propose(drafter, tokens)
        pending = tokens[session.length :]
        if tree:
            nodes = [committed[0], 7, *committed[1:]]
            parents = [-1, -1, *(0 if i == 0 else i + 1 for i in range(len(committed) - 1))]
            session.score_tree(pending, nodes, parents)
            session.keep([0, *range(2, len(nodes))])
        else:
            session.score([*pending, *committed, *([1, 2] if rejected else [])])
        tokens += [*committed, 5]
        session.rollback(len(tokens) - 1)
        drafter.rollback(len(tokens) - 1)
    found, wanted = propose(drafter, tokens), draft_afresh(kind, heads[kind], tokens, "numba", shape)
    assert (found.tokens, found.parents) == (wanted.tokens, wanted.parents)
    assert bits(found.probs) == bits(wanted.probs)
    again = propose(drafter, tokens)  # as after an interruption, which sets nothing back
    assert again.tokens == wanted.tokens
    assert bits(again.probs) == bits(wanted.probs)


@pytest.mark.parametrize("kind", KINDS)
def test_a_draft_near_the_end_of_the_context_keeps_to_it(heads: dict[str, str], kind: str) -> None:
    target = target_of("numba")
    prompt = [3] * (SIZES["n_positions"] - 9)
    write = partial(generate, prompt, target=target, max_tokens=99, temperature=0.0)
    plain, draft = write(draft=None), f"{kind}:head={heads[kind]}"
    assert len(plain.token_ids) == 9
    for options in (
        {"draft": draft, "gamma": 6},
        {"draft": f"tree:draft={draft},shape=dynamic,siblings=likeliest", "verify": "tree", "gamma": 6},
        {"draft": f"tree:draft={draft},shape=3x2x2x1", "verify": "tree"},
    ):
        made = write(**options)
        assert (made.token_ids, made.finish_reason) == (plain.token_ids, plain.finish_reason)


# ── in a batch ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_texts_and_sources_are_those_alone_in_any_company(heads: dict[str, str]) -> None:
    """Also where a page could be taken up that was filled before anybody read hidden states."""
    shared = [1, 2, 3, 4] * 6
    drafts = [None, "ngram", *(f"{kind}:head={heads[kind]}" for kind in KINDS)]
    drafts += [f"tree:draft={draft},shape=dynamic,nodes=6" for draft in drafts[2:]]
    requests = [
        {
            "prompt": [*shared, seed],
            "draft": draft,
            "seed": seed,
            "max_tokens": 20,
            "gamma": 3,
            "verify": "tree",
            **PLAIN,
        }
        for seed, draft in enumerate([*drafts, *drafts])
    ]
    alone = [generate(target=target_of("numba"), **request) for request in requests]
    engine = Engine(target_of("numba"), max_running=3, page_size=4, kv_memory=3 * 15 * 4 * 3 * 2 * 12 * 4)
    keys = [engine.add(**requests[0])]
    engine.run()  # its beginning is published before anybody asks for hidden states
    keys += [engine.add(**request) for request in requests[1:]]
    engine.run()
    for key, expected in zip(keys, alone, strict=True):
        assert engine.generation(key).token_ids == expected.token_ids
        assert engine.generation(key).sources == expected.sources


def test_a_page_that_lacks_features_is_not_taken_up() -> None:
    """Neither one that was published before they were kept, nor one that was held then and is published later."""
    model = target_of("numba")
    pool = PagePool(3, 3, 4, 6, 4, backend=model.backend)
    early = pool.take(), pool.take()
    pool.publish(range(4), early[:1])
    pool.keep_features([2])
    assert pool.share(range(8)) == []
    pool.publish(range(8), early)
    assert pool.share(range(8)) == []
    for page in early:
        pool.give_back(page)
    assert pool.num_free == 6
    late = [pool.take() for _ in range(6)]
    pool.publish(range(8), late[-2:])
    assert pool.share(range(8)) == late[-2:]
    pool.keep_features([2])  # kept already: nothing changes
    assert pool.share(range(4)) == late[-2:-1]


@pytest.mark.parametrize("draft", ["eagle:head={}", "tree:draft=eagle:head={},shape=2x1"])
def test_a_head_is_compiled_before_the_first_clock(
    heads: dict[str, str], draft: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the format that it is stored in, which need not be the target's."""
    copy = change(heads["eagle"], tmp_path / "half")
    tensors = {name: array.astype(np.float16) for name, array in load_file(Path(copy) / WEIGHTS).items()}
    save_file(tensors, Path(copy) / WEIGHTS)
    made_ready = []
    monkeypatch.setattr(ready, "_ready", set())
    monkeypatch.setattr(PanelBackend, "warm_up", lambda self, *formats: made_ready.append(formats))
    target = target_of("panel")
    run = stream([1, 2, 3], target=target, draft=draft.format(copy), verify="tree", max_tokens=4)
    assert isinstance(next(run), Prefilled)
    assert sorted(made_ready) == [("float16", "float32"), ("float32", "float32")]


def test_a_copy_of_a_page_that_lacks_features_lacks_them_too() -> None:
    model, text = target_of("numba"), list(range(8))
    pool = PagePool(3, 3, 4, 8, 4, backend=model.backend)
    sessions = [TreeSession(model) for _ in range(2)]
    for session in sessions:
        session.cache = PagedCache(pool, 20)
    sessions[0].prefill(text)
    sessions[0].cache.publish(text)
    assert sessions[1].cache.adopt(text) == 8
    sessions[1].tokens = list(text)
    pool.keep_features([2])
    sessions[1].rollback(2)  # and on with its own page, half of it from before
    sessions[1].prefill(text)
    sessions[1].cache.publish(text)
    assert pool.share(text) == []


# ── bad input ───────────────────────────────────────────────────────────────────────────────────────────────────────


def change(folder: str, copy: Path, **fields: object) -> str:
    copy.mkdir()
    config = json.loads((Path(folder) / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, **fields}))
    (copy / "model.safetensors").write_bytes((Path(folder) / "model.safetensors").read_bytes())
    return str(copy)


BAD = {
    "kind": ("medusa", "of kind medusa"),
    "fingerprint": ("0" * 64, "was trained for"),
    "layers": ([1, 9], "of 3"),
    "words": ([0, 3, 4, 9, 11, 99], "the target has 23"),
    "length": (0, "a whole number"),
    "width": (9, "multiple of num_heads"),
    "inner": (13, "has shape"),
    "target": (7, "a text"),
}


@pytest.mark.parametrize("field", BAD)
def test_a_head_that_does_not_fit_is_refused_in_one_line(heads: dict[str, str], field: str, tmp_path: Path) -> None:
    value, words = BAD[field]
    folder = change(heads["eagle"], tmp_path / "copy", **{field: value})
    with pytest.raises(InputError, match=words) as error:
        load_head(folder, "eagle", target_of("numba"))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("folder", ["missing", "a" * 300, "~nobody-of-this-name/head", "a\0b", __file__])
def test_a_folder_that_holds_no_head_is_refused_in_one_line(folder: str) -> None:
    """Also where the file system would not even look."""
    with pytest.raises(InputError, match=r"^eagle: .* holds no head \(.*\); .* Train one") as error:
        load_head(folder, "eagle", target_of("numba"))
    assert "\n" not in str(error.value)


def test_words_may_go_beyond_what_a_size_may(tmp_path: Path) -> None:
    """A vocabulary has no such limit as a width: what training writes for a large one is read again."""
    target = random_gpt2("numpy", seed=1, vocab_size=70_000, n_positions=4, n_embd=2, n_layer=1, n_head=1)
    head = write_head(tmp_path, "eagle", target, words=(1, 69_999), layers=(1,))
    assert load_head(head, "eagle", target).config.words == (1, 69_999)


def test_a_head_needs_a_target_with_hidden_states(heads: dict[str, str]) -> None:
    with pytest.raises(InputError, match="has no hidden states to read"):
        load_head(heads["eagle"], "eagle", TableModel(23))
    with pytest.raises(InputError, match="was trained for random"):
        load_head(heads["eagle"], "eagle", random_gpt2("numba", seed=6, **SIZES))
    with pytest.raises(InputError, match="no eagle head comes with random"):
        generate([1], target=target_of("numba"), draft="eagle")


def test_a_tree_needs_a_draft_that_can_branch_and_room(heads: dict[str, str]) -> None:
    write = partial(generate, [1], target=target_of("numba"), verify="tree")
    for draft in ("ngram", "none", "tree"):
        with pytest.raises(InputError, match=f"draft is '{draft}'; it must be a model or a head"):
            write(draft=f"tree:draft={draft}")
    with pytest.raises(InputError, match="no eagle head comes with random"):
        write(draft="tree:draft=eagle")
    for shape in ("dynamic,nodes=900", "sequoia,nodes=900,acceptance=0.9/0.9/0.9/0.9/0.9", "9x9x9"):
        with pytest.raises(InputError, match=r"nodes, and random\S* holds 200 tokens"):
            write(draft=f"tree:draft=eagle:head={heads['eagle']},shape={shape}")
    for options, words in (("nodes=0", "nodes is 0"), ("depth=0", "depth is 0")):
        with pytest.raises(InputError, match=words):
            write(draft=f"tree:draft=eagle:head={heads['eagle']},shape=dynamic,{options}")


def test_features_that_are_not_there_are_not_read() -> None:
    cache_ = KVCache(2, 1, 4, 8)
    with pytest.raises(InvariantError):
        cache_.keep_features([0])
    with pytest.raises(InvariantError):
        cache_.keep_features([3])
    cache_.keep_features([1])
    with pytest.raises(InvariantError):
        cache_.read_features([1], 0, 1)
