"""What drafters propose, how much of it, and what it costs: against searches of the whole text and counts by hand."""

from __future__ import annotations

import dataclasses
import functools
import itertools

import numpy as np

from minispec.engine.drafters import (
    CascadeDrafter,
    FixedTreeDrafter,
    LayerSkipDrafter,
    ModelDrafter,
    ModelSource,
    NgramDrafter,
    SuffixDrafter,
    TranslatingDrafter,
    ngram,
)
from minispec.engine.drafters.trees import shapes
from minispec.engine.generation import Drafted, Emitted, Verified, api
from minispec.engine.generation.options import Options
from minispec.engine.generation.prepare import check_together
from minispec.engine.laws import Enumerator, outcome, total_variation
from minispec.engine.model import quantize
from minispec.engine.model.asks import answer, ask_for
from minispec.engine.model.session import Session
from minispec.engine.model.toy import TableModel
from minispec.engine.model.tree_session import TreeSession
from minispec.engine.noise import Address, Coins
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.records import Draft
from minispec.engine.sampling import SamplingParams
from minispec.errors import OptionError
from tests.engine.drafters import test_dynamic_trees, test_ngram, test_suffix, test_synthetic, test_tables, test_trees
from tests.engine.laws import forms
from tests.engine.laws.space import PLAIN, OtherSpelling, distance_of
from tests.models import random_gpt2

from .base import check, suite
from .engine import CountingTarget, models_by_name_of

_ALL = 1 << 30
_PARAMS = SamplingParams(temperature=1.0, top_p=1.0)


def _propose(drafter, tokens, gamma, more=lambda probs: _ALL) -> Draft:
    return answer(ask_for(drafter.propose(list(tokens), gamma, Coins(PhiloxNoise(0), position=len(tokens)), more)))


# ── copies ──────────────────────────────────────────────────────────────────────────────────────────────────────────


suite(
    "copies", "trace", "n-gram and suffix drafts of texts that grow and are set back, against a search of all of each",
    test_ngram.test_equals_the_slow_twin,
    test_ngram.test_rollbacks_at_any_point_leave_no_trace,
    test_suffix.test_draft_equals_the_slow_twin,
    test_suffix.test_rollbacks_at_any_point_leave_no_trace,
)  # fmt: skip


suite(
    "copies beside a corpus", "trace", "suffix drafts of such texts beside a corpus, against a search of all of both",
    test_suffix.test_a_corpus_is_searched_beside_the_text,
)  # fmt: skip


# ── what a form dictates ────────────────────────────────────────────────────────────────────────────────────────────


@functools.cache
def _law_of_the_form():
    return forms.wanted_law()


def _run_forced(inner, **options):
    """Under the small form, what it dictates is drafted, the rest by another model."""
    with models_by_name_of(small=inner):
        return api.stream(
            forms.PROMPT, target=forms.make_target(), draft="forced:draft=small", regex=forms.REGEX, **PLAIN, **options
        )


@check("law", "the exact law of (ids, text, reason, stop) of a form that dictates tokens, which can be cut in two ways")
def law_of_forced() -> float:
    def run(noise):
        return outcome(
            _run_forced(TableModel(forms.V, seed=6), noise=noise, gamma=2, max_tokens=forms.MAX_TOKENS).run()
        )

    return total_variation(Enumerator(run).law(), _law_of_the_form())


@check(
    "cost",
    "what a form dictates is drafted whole, nothing else without a forward, and it is accepted: against its texts",
)
def dictated_tokens() -> float:
    wrong = 0
    for gamma, seed in itertools.product((1, 2, 4), range(8)):
        inner = CountingTarget(forms.V, seed=6)
        generated, forwards, dictated = "", 0, ""
        stream = _run_forced(inner, gamma=gamma, seed=seed, max_tokens=forms.MAX_TOKENS)
        for event in stream:
            if isinstance(event, Drafted):
                room = forms.MAX_TOKENS - (event.position - len(forms.PROMPT)) - 1
                # where "a" comes last, "ab" may be meant: that is left open
                dictated = forms.find_common(generated).removesuffix("a")[: min(gamma, room)]
                drafted = b"".join(map(forms.TOKENIZER.token_bytes, event.tokens)).decode()
                wrong += bool(dictated) and drafted != dictated
                wrong += (inner.forwards == forwards) != bool(dictated or not room)
            elif isinstance(event, Verified):
                wrong += event.num_accepted < len(dictated)
            elif isinstance(event, Emitted):
                generated += event.text
                if event.step == 0:
                    answer(stream.drafter.prefill(stream.tokens[:-1]))  # else the first draft would wait for it
            forwards = inner.forwards
    return float(wrong)


# ── lengths ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Asked:
    """A policy that gives scripted answers, and counts how often it is asked."""

    def __init__(self, *answers: int) -> None:
        self.answers, self.count = answers, 0

    def __call__(self, probs) -> int:
        self.count += 1
        return self.answers[min(self.count, len(self.answers)) - 1]


_REPEATING = [0, 1, 2, 0, 1, 2, 0, 1, 2]


@check("cost", "control of length: 0 ends a draft before its token, 1 behind it, and neither costs another forward")
def answers_to_a_draft() -> float:
    wrong = 0
    for answers, length, asked in (((_ALL, 1), 2, 2), ((_ALL, 0), 1, 2), ((0,), 0, 1), ((1,), 1, 1), ((2, _ALL), 2, 2)):
        model = CountingTarget(3, seed=1)
        chain, more = ModelDrafter(Session(model), _PARAMS), _Asked(*answers)
        wrong += len(_propose(chain, _REPEATING, 4, more)) != length or more.count != asked or model.forwards != asked
        for copier in (NgramDrafter(3), SuffixDrafter(3)):
            more = _Asked(*answers)
            wrong += len(_propose(copier, _REPEATING, 4, more)) != length or more.count != asked
        more = _Asked(*answers)
        cascade = CascadeDrafter(Session(TableModel(3, seed=1)), _PARAMS, NgramDrafter(3))
        wrong += len(_propose(cascade, _REPEATING, 4, more)) != length or more.count != asked
    model, more = CountingTarget(3, seed=1), _Asked(1, 0, 1)  # the root has children, the first of them has none
    tree = FixedTreeDrafter(ModelSource(model), _PARAMS, shapes.fixed_tree((2, 2)), num_slots=64)
    return float(wrong + (_propose(tree, [0, 1], 2, more).parents != (-1, -1, 1, 1)) + (model.forwards != 2))


@check("cost", "drafts reach the last slot of the draft model's window, and none goes beyond it")
def windows() -> float:
    wrong = 0
    for length, gamma in itertools.product(range(1, 9), (1, 3)):
        text, room = _REPEATING[:length], max(0, min(gamma, 7 - length))
        model, target = TableModel(3, 6, seed=1), random_gpt2(n_positions=6, vocab_size=3, n_embd=4, n_head=1)
        drafters = [ModelDrafter(Session(model), _PARAMS), CascadeDrafter(Session(model), _PARAMS, NgramDrafter(3))]
        if length < 7:
            session = TreeSession(target)
            session.prefill(text[:-1])
            drafters.append(LayerSkipDrafter(session, _PARAMS))
        wrong += sum(len(_propose(drafter, text, gamma)) != room for drafter in drafters)
        tree = FixedTreeDrafter(ModelSource(model), _PARAMS, shapes.fixed_tree((1, 1, 1)), num_slots=64)
        wrong += len(_propose(tree, text, gamma)) != max(0, min(gamma, 6 - length))  # nodes have to fit beside the text
    return float(wrong)


@check("cost", "a translation proposes no more of the target's tokens than it was asked for")
def length_of_a_translation() -> float:
    model = TableModel(4, 64, seed=4)
    ours, theirs = OtherSpelling([b"a", b"b"]), OtherSpelling([b"b", b"a", b"bab", b"aaa"])
    drafter = TranslatingDrafter(Session(model), _PARAMS, theirs, ours, 2)
    return float(sum(len(_propose(drafter, text, 2)) > 2 for text in itertools.product((0, 1), repeat=4)))


# ── tables, layers, formats, mixtures ───────────────────────────────────────────────────────────────────────────────


suite(
    "tables", "value", "unigram and bigram probabilities of small texts, and which row a drafter draws from",
    test_tables.test_rows_are_smoothed_counts,
    test_tables.test_greedy_takes_the_likeliest_follower,
)  # fmt: skip


_DEEP = random_gpt2("numba", seed=6, n_layer=3, n_positions=24, vocab_size=11, n_embd=12, n_head=3)
_LONG = random_gpt2("numba", seed=7, n_layer=2, n_positions=40, vocab_size=11, n_embd=12, n_head=3)


@check("value", "layer skip draws from the model that its first layers make, by default the first half of them")
def first_layers() -> float:
    wrong, text = 0, [1, 2, 3, 4, 5]
    for k, depth in ((None, 1), (1, 1), (2, 2)):
        weights = dataclasses.replace(_DEEP.weights, h=_DEEP.weights.h[:depth])
        shallow = dataclasses.replace(_DEEP, weights=weights, config=dataclasses.replace(_DEEP.config, n_layer=depth))
        session = TreeSession(_DEEP)
        session.prefill(text[:-1])
        found = _propose(LayerSkipDrafter(session, _PARAMS, k), text, 3)
        wanted = _propose(ModelDrafter(Session(shallow), _PARAMS), text, 3)
        wrong += found.tokens != wanted.tokens or not np.array_equal(found.probs, wanted.probs)
    return float(wrong)


@check("trace", "a layer-skip draft that was given up in the middle leaves nothing to the next one")
def abandoned_draft() -> float:
    wrong, text = 0, [1, 2, 3, 4, 5]
    for given_up in range(3):
        session = TreeSession(_DEEP)
        session.prefill(text[:-1])
        drafter = LayerSkipDrafter(session, _PARAMS, 2)
        first = _propose(drafter, text, 3)
        work = drafter.propose(text, 3, Coins(PhiloxNoise(9), position=5), lambda probs: _ALL)
        ask = next(work)
        for _ in range(given_up):
            ask = work.send(ask.answer())
        ask.answer()
        wrong += not np.array_equal(_propose(drafter, text, 3).probs, first.probs)
    return float(wrong)


@check("trace", "a model rounded after loading has the logits of one that was loaded in that format")
def rounded_models() -> float:
    wrong = 0
    for dtype, tied in itertools.product(("float16", "bfloat16", "int8"), (True, False)):
        sizes = {"vocab_size": 11, "n_positions": 8, "n_embd": 12, "n_head": 3, "tie_word_embeddings": tied}
        rounded = quantize.round_model(random_gpt2("numba", 7, **sizes), dtype)
        wrong += not np.array_equal(
            rounded.logits([1, 2, 3]), random_gpt2("numba", 7, dtype, **sizes).logits([1, 2, 3])
        )
        wrong += (rounded.weights.lm_head is rounded.weights.wte) != tied
    return float(wrong)


suite(
    "synthetic acceptance", "value", "a synthetic draft is accepted with the wanted probability, of any row",
    test_synthetic.test_acceptance_is_exactly_alpha_or_the_least_there_is,
)  # fmt: skip


# ── trees ───────────────────────────────────────────────────────────────────────────────────────────────────────────


suite(
    "tree shapes", "value",
    "Sequoia's trees of 1 to 12 nodes yield as much as its dynamic programme says; a fixed shape by hand",
    test_trees.test_sequoia_equals_its_dynamic_programme,
    test_trees.test_fixed_shape,
)  # fmt: skip


@check("cost", "a tree's draft model is fed the text once, inner nodes once, and what was accepted of them never again")
def cost_of_a_tree() -> float:
    model, text = CountingTarget(5, seed=1), [0, 1, 0]
    drafter = FixedTreeDrafter(ModelSource(model), _PARAMS, shapes.fixed_tree((2, 1)), "likeliest", num_slots=64)
    first = _propose(drafter, text, 2)
    text += [first.tokens[0], first.tokens[2], 4]  # a path and the target's token; the leaf was never fed
    drafter.rollback(len(text) - 1)
    second = _propose(drafter, text, 2)
    wrong = (model.forwards, model.rows) != (4, (3 + 2) + (2 + 2)) or first.parents != (-1, -1, 0, 1) != second.parents
    return float(wrong)


@check("law", "the law of three tokens of two, drafted by trees of three nodes that grow, against the target's")
def law_of_growing_trees() -> float:
    prompt, small = (0,), TableModel(2, seed=2)
    target = TableModel(2, seed=1, table={prompt: [0.0, 1.0]})  # no draft reaches the first token, which is certain
    with models_by_name_of(small=small):
        draft = "tree:draft=small,shape=dynamic,nodes=3"
        return distance_of(target, draft, prompt, verify="tree", gamma=2, max_tokens=4)


suite(
    "growing trees", "value", "the nodes of trees that grow, against the likeliest of all paths",
    test_dynamic_trees.test_it_holds_the_likeliest_paths_of_all,
)  # fmt: skip


@functools.cache
def _text_to_the_end(seed: int) -> tuple[int, ...]:
    """Plain sampling until the context is full, by uncached logits."""
    text = [0, 1]
    while len(text) < 24:
        probs = np.exp(_DEEP.logits(text)[-1].astype(float))
        text.append(PhiloxNoise(seed).categorical(probs / probs.sum(), Address("sample", len(text))))
    return tuple(text[2:])


@check("trace", "sampled text with trees to the last slot of target and draft, against uncached logits")
def trees_at_the_end_of_the_context() -> float:
    wrong = 0
    for seed, shape, small in itertools.product(range(2), ("2x1", "3x2", "1x2x2"), (_DEEP, _LONG)):
        with models_by_name_of(small=small):
            ids = api.stream(
                [0, 1], target=_DEEP, draft=f"tree:draft=small,shape={shape}", verify="match", gamma=3, seed=seed,
                max_tokens=99, **PLAIN,
            ).run().token_ids  # fmt: skip
        wrong += ids != _text_to_the_end(seed)
    return float(wrong)


@check("value", "a copy reads on in what it has just copied, as often as it takes")
def copies_of_copies() -> float:
    wanted = [2, 3, 2, 3, 2], [3, 3, 3, 3, 3], [1, 2, 3, 1, 2]
    return float(
        sum(ngram.copy_on([1, 2, 3], begin, 5) != list(tokens) for begin, tokens in zip((1, 2, 0), wanted, strict=True))
    )


@check("value", "which trees are accepted under a rule that divides by the number of siblings: by hand")
def trees_that_count() -> float:
    accepted = []
    for siblings, shape in itertools.product(("with", "without", "likeliest"), ("2x1", "sequoia", "dynamic")):
        try:
            check_together(f"tree:shape={shape},siblings={siblings}", Options(verify="kseq"))
        except OptionError:
            continue
        accepted.append((siblings, shape))
    return float(accepted != [("with", "2x1"), ("with", "sequoia")])
