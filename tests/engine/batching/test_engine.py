"""The promise: a request's text, sources and end are the same bit for bit alone, and in any company."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Unpack, get_type_hints
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minispec import generate
from minispec.engine.batching import Engine, generate_many
from minispec.engine.batching import batch as batch_module
from minispec.engine.batching import models as models_module
from minispec.engine.batching.batch import Batch
from minispec.engine.batching.member import Member
from minispec.engine.control import AutoGamma, Fallback, HeuristicGamma
from minispec.engine.control.gamma import UNLIMITED
from minispec.engine.drafters import NgramDrafter
from minispec.engine.drafters.base import draft_nothing
from minispec.engine.drafters.heads import Head
from minispec.engine.drafters.heads.feed import HeadFeed
from minispec.engine.generation import Emitted, Finished, Prefilled, Verified, api
from minispec.engine.generation import run as run_module
from minispec.engine.generation.options import Options, RequestOptions
from minispec.engine.generation.stopping import Limits
from minispec.engine.generation.transcript import Transcript
from minispec.engine.laws import Enumerator, outcome, total_variation
from minispec.engine.model import together
from minispec.engine.model.quantize import round_model
from minispec.engine.model.toy import TableModel
from minispec.engine.sampling import SamplingParams
from minispec.engine.verifiers import get_verifier
from minispec.engine.verifiers.registry import VERIFIER_NAMES
from minispec.errors import InvariantError, OptionError
from tests.engine.drafters.random_head import write_head
from tests.engine.generation.tiny import byte_tokenizer
from tests.engine.laws.oracle import slow_law
from tests.interrupting import run_with_interrupt_at
from tests.models import random_gpt2
from tests.mutants.catalogue.tools import edit

CONTEXT = 48
LETTERS = [bytes([ord("a") + i]) for i in range(23)]  # a token each, for stop strings and regular expressions
TARGET = random_gpt2("panel", n_positions=CONTEXT, eos_token_id=5, vocab_size=23)
TARGET = replace(TARGET, tokenizer=byte_tokenizer(LETTERS))
DRAFT = random_gpt2("panel", seed=1, n_layer=1, n_positions=CONTEXT, vocab_size=23)
PAIR = TARGET, DRAFT
HALVES = replace(TARGET, kv_dtype="float16"), replace(DRAFT, kv_dtype="float16")
TABLES = TableModel(5, CONTEXT, seed=1, eos_token_id=frozenset({3})), TableModel(5, CONTEXT, seed=2)
TABLES[0].tokenizer = byte_tokenizer(LETTERS[:5])


HEADS = tempfile.TemporaryDirectory()


@functools.cache
def name_head(kind, length=3):
    """A head of the target with random weights."""
    return f"{kind}:head={write_head(Path(HEADS.name) / f'{kind}-{length}', kind, TARGET, length=length)}"


@pytest.mark.parametrize("call", [Engine.add, generate_many])
def test_a_type_checker_knows_every_option_of_a_request(call):
    """`temprature=0` is an error before anything runs."""
    expected = get_type_hints(Options)
    expected["stop"] = str | Sequence[str]  # one text is let in as well
    assert get_type_hints(RequestOptions) == expected
    assert get_type_hints(call)["options"] == Unpack[RequestOptions]
    shown = inspect.signature(call).parameters  # what help() and completion show
    assert {name: shown[name].default for name in expected} == {each.name: each.default for each in fields(Options)}


def slot_bytes(model):
    cache = model.new_cache(capacity=1)
    return cache.keys.nbytes + cache.values.nbytes


@st.composite
def requests(draw, vocab_size, drafts):
    prompt = draw(st.lists(st.integers(0, min(2, vocab_size - 1)), min_size=1, max_size=20))
    drafter = draw(st.sampled_from(drafts))
    is_tree = isinstance(drafter, str) and drafter.startswith("tree:")
    rules, lengths = (["tree"], []) if is_tree else (RULES, ["heuristic", "confidence:threshold=0.2"])
    return (
        prompt,
        drafter,
        {
            "gamma": draw(st.sampled_from([0, 1, 2, 5, *lengths])),
            "temperature": draw(st.sampled_from([0.0, 1.0])),
            "top_k": draw(st.sampled_from([0, 3])),
            "repetition_penalty": draw(st.sampled_from([1.0, 1.3])),
            "max_tokens": draw(st.integers(1, 14)),
            "seed": draw(st.integers(0, 3)),
            "verify": draw(st.sampled_from(rules)),
            "regex": draw(st.sampled_from([None, None, "[ab]*", "(a|bc)+e?", "c[a-e]{3,}"])),
            "stop": draw(st.sampled_from([(), (), ("b",), ("ab", "ba", "ccc")])),
            "logprobs": draw(st.booleans()),
            "audit": draw(st.booleans()),
        },
    )


def alone(target, prompt, draft, options):
    return generate(prompt, target=target, draft=draft, **options)


def essence(generation):
    return generation.token_ids, generation.sources, generation.finish_reason, generation.stop


def drafting(generation):
    """What was drafted, and how likely each draft was to be kept: its p and its q, to the bit."""
    return [(step.draft_tokens, step.verdict.accept_probs) for step in generation.steps]


def tellings(events):
    """What a reader is told of a request, but for times."""
    told = []
    for event in events:
        if isinstance(event, Emitted):
            told.append(("emitted", event.step, event.token_ids, event.sources))
        if isinstance(event, Verified):
            told.append(("verified", event.step, event.num_accepted, event.next_token))
        if isinstance(event, Finished):
            told.append(("finished",))
    return told


def check_memory(engine):
    """All pages are free again, in every pool."""
    assert engine.models.all_free


class Flaky:
    """Ctrl-C in the n-th forward of a batch, before or after it."""

    def __init__(self, answer):
        self.answer, self.left, self.after = answer, 0, False

    def __call__(self, asks):
        self.left -= 1
        if self.left == 0 and not self.after:
            raise KeyboardInterrupt
        answers = self.answer(asks)
        if self.left == 0:
            raise KeyboardInterrupt
        return answers


RULES = ["rejection", "match", "gumbel", "block"]
TREE = "tree:shape=2x1,draft=small"
actions = st.sampled_from(["add", "add", "step", "step", "step", "cancel", "interrupt"])


companies = {
    "data": st.data(),
    "plan": st.lists(actions, min_size=3, max_size=30),
    "max_running": st.integers(1, 4),
    "page_size": st.sampled_from([1, 4, 7, CONTEXT]),
    "slots": st.integers(CONTEXT, 3 * CONTEXT),
    "max_rows": st.sampled_from([1, 16, 256]),
}


@settings(max_examples=60, deadline=None)
@given(pair=st.sampled_from([TABLES, TABLES, PAIR, PAIR, HALVES]), **companies)
def test_any_company_any_order(pair, **company):
    """Joins, leaves, cancellations, preemptions and Ctrl-C of the whole, in any order."""
    check_company(pair=pair, **company)


@pytest.mark.exhaustive
@settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(**companies)
def test_ten_thousand_companies(**company):
    check_company(pair=TABLES, **company)


def check_company(*, data, pair, plan, max_running, page_size, slots, max_rows):
    """Each request's text, sources, end and events are those it has alone, and no page is lost."""
    target, draft = pair
    drafts = [draft, None, "ngram", "suffix", TREE]
    if pair is not TABLES:
        drafts += [f"tree:shape=2x1,draft={name_head('eagle')}"]
        drafts += ["layerskip", "self:dtype=int8", *map(name_head, ("medusa", "eagle", "block"))]
    memory = slot_bytes(target) * -(-slots // page_size) * page_size
    engine = Engine(target, max_running=max_running, page_size=page_size, kv_memory=memory, max_rows=max_rows)
    asked, told, cancelled = {}, {}, {}

    def step():
        for number, event in engine.step():
            told[number].append(event)

    flaky, loading = Flaky(batch_module.answer_together), {"return_value": draft}
    with (
        mock.patch.object(batch_module, "answer_together", flaky),
        mock.patch.object(models_module, "recall_model", **loading),
        mock.patch.object(api, "recall_model", **loading),
    ):
        for action in plan:
            if action == "add":
                prompt, drafter, options = data.draw(requests(target.vocab_size, drafts))
                number = engine.add(prompt, draft=drafter, **options)
                asked[number], told[number] = (prompt, drafter, options), []
            elif action == "cancel" and set(asked) - set(cancelled) - set(engine._batch.ended):
                number = data.draw(st.sampled_from(sorted(set(asked) - set(cancelled) - set(engine._batch.ended))))
                cancelled[number] = engine.cancel(number)
            elif action == "interrupt":
                flaky.left, flaky.after = data.draw(st.integers(1, 4)), data.draw(st.booleans())
                try:
                    step()
                except KeyboardInterrupt:
                    check_memory(engine)
                flaky.left = 0
            else:
                step()
        while not engine.is_idle:
            step()
        expected = {number: alone(target, *request) for number, request in asked.items()}
    for number, (_, drafter, options) in asked.items():
        wanted = expected[number]
        found = engine.generation(number)
        if number in cancelled:
            assert found.token_ids == wanted.token_ids[: len(found.token_ids)]
            assert found.sources == wanted.sources[: len(found.sources)]
            continue
        assert essence(found) == essence(wanted), (options, drafter)
        assert drafting(found) == drafting(wanted), (options, drafter)
        assert [step.details for step in found.steps] == [step.details for step in wanted.steps]
        emitted = [token for event in told[number] if isinstance(event, Emitted) for token in event.token_ids]
        assert tuple(emitted) == wanted.token_ids
        assert sum(isinstance(event, Finished) for event in told[number]) == 1
    check_memory(engine)


@pytest.mark.parametrize("rule", [*VERIFIER_NAMES, "typical:epsilon=0.3"])
def test_every_rule_beside_every_draft(rule):
    """One batch of all drafts that the rule can judge, each with another seed, length, γ; every second one audited."""
    verifier = get_verifier(rule)
    drafts = [DRAFT, None, "ngram", "suffix", "layerskip", "self:dtype=int8", "cascade:draft=small"]
    drafts += map(name_head, ("medusa", "eagle", "block"))
    if not verifier.coupled:
        drafts.append("synthetic:alpha=0.6")
    if verifier.trees:
        trees = [TREE, *(f"tree:shape=2x1,draft={name_head(kind)}" for kind in ("eagle", "block"))]
        drafts += [f"{tree},siblings=with" for tree in trees] if rule == "kseq" else trees
    loading = {"return_value": DRAFT}
    with mock.patch.object(models_module, "recall_model", **loading), mock.patch.object(api, "recall_model", **loading):
        engine = Engine(TARGET, max_running=4, page_size=4, kv_memory=slot_bytes(TARGET) * 4 * 30)
        asked = []
        for i, draft in enumerate(drafts):
            gamma = 1 + i % 4
            options = {"verify": rule, "seed": i, "max_tokens": 6 + i, "gamma": gamma, "audit": i % 2 == 0}
            asked.append(alone(TARGET, [1, 2, 3, 1, 2], draft, options))
            engine.add([1, 2, 3, 1, 2], draft=draft, **options)
        found = engine.run()
    assert [essence(each) for each in found] == [essence(wanted) for wanted in asked]
    assert [drafting(each) for each in found] == [drafting(wanted) for wanted in asked]
    check_memory(engine)


def enumerated(noise, *, company, kv_slots=CONTEXT * 3):
    """The text of one request, whose noise is enumerated, beside another with noise of its own."""
    target, draft = LAW_MODELS
    engine = Engine(target, max_running=2, page_size=2, kv_memory=slot_bytes(target) * kv_slots)
    if company == "before":
        engine.add([1, 0, 2], draft=draft, gamma=1, seed=3, max_tokens=4)
    number = engine.add([0], draft=draft, gamma=2, max_tokens=3, noise=noise)
    if company == "after":
        engine.step()
        engine.add([1, 0, 2], draft=draft, gamma=3, seed=5, max_tokens=4)
    engine.run()
    return outcome(engine.generation(number))


LAW_MODELS = TableModel(3, 16, seed=4, eos_token_id=frozenset({2})), TableModel(3, 16, seed=7)


@pytest.mark.parametrize("company", ["before", "after"])
def test_the_law_of_a_row_beside_another_is_the_targets(company):
    """By enumeration of every coin of one of two requests, with two rows in each forward."""
    target, _ = LAW_MODELS
    limits = Limits(3, target.n_positions, (), target.eos_token_id)
    wanted = slow_law(target, SamplingParams(), [0], limits)
    found = Enumerator(lambda noise: enumerated(noise, company=company)).law()
    assert total_variation(found, wanted) < 1e-12


def test_the_law_of_both_rows_together_is_a_product():
    """Two requests whose coins are all enumerated: what one emits says nothing about the other."""
    target, draft = LAW_MODELS
    limits = Limits(1, target.n_positions, (), target.eos_token_id)
    rows = [slow_law(target, SamplingParams(), [start], limits) for start in (0, 1)]

    class Half:
        """One request's questions, told apart from the other's by a level of their own."""

        def __init__(self, noise, level):
            self.noise, self.level = noise, level

        def bernoulli(self, prob, at):
            return self.noise.bernoulli(prob, at._replace(level=self.level))

        def categorical(self, probs, at):
            return self.noise.categorical(probs, at._replace(level=self.level))

    def both(noise):
        engine = Engine(target, max_running=2, page_size=2)
        for start in (0, 1):
            engine.add([start], draft=draft, gamma=1, max_tokens=1, noise=Half(noise, 7 + start))
        return tuple(generation.token_ids for generation in engine.run())

    found = Enumerator(both).law()
    wanted = {}
    for one, p in rows[0].items():
        for other, q in rows[1].items():
            key = one.token_ids, other.token_ids
            wanted[key] = wanted.get(key, 0.0) + p * q
    assert total_variation(found, wanted) < 1e-12


@pytest.mark.skipif(sys.gettrace() is not None, reason="a tracer (coverage, a debugger) is at work already")
@pytest.mark.parametrize(
    ("draft", "stride"),
    [
        ("model", 97),
        ("heads", 397),
        *(pytest.param(draft, 1, marks=pytest.mark.exhaustive) for draft in ("model", "heads")),
    ],
)
def test_ctrl_c_at_any_line_loses_nothing_and_tells_nothing_twice(draft, stride):
    def new_engine():
        target = TABLES[0] if draft == "model" else TARGET
        drafts = [TABLES[1]] * 3 if draft == "model" else map(name_head, ("eagle", "block", "eagle"))
        engine = Engine(target, max_running=2, page_size=2, kv_memory=slot_bytes(target) * CONTEXT)
        for seed, each in enumerate(drafts):
            engine.add([0, 1, 2, 0], draft=each, gamma=2, max_tokens=5, seed=seed)
        return engine

    def by_request(events):
        return [tellings(event for number, event in events if number == wanted) for wanted in range(3)]

    events = []
    engine = new_engine()
    assert not run_with_interrupt_at(0, engine, events)
    told, texts = by_request(events), [essence(engine.generation(i)) for i in range(3)]
    line_number, interrupted = 0, 0
    while True:
        line_number += stride
        engine, events = new_engine(), []
        if not run_with_interrupt_at(line_number, engine, events):
            break
        interrupted += 1
        events += list(engine)
        assert [essence(engine.generation(i)) for i in range(3)] == texts, line_number
        assert by_request(events) == told, line_number
        check_memory(engine)
    assert interrupted > 25


class Told(list):
    """What an engine has to tell; an interruption falls before or behind the entry of some number."""

    def __init__(self, number, *, behind):
        self.left, self.behind = number, behind

    def append(self, told):
        self.left -= 1
        if self.left == 0 and not self.behind:
            raise KeyboardInterrupt
        super().append(told)
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("behind", [False, True])
def test_ctrl_c_beside_what_is_noted_to_be_told_neither_loses_nor_doubles_it(behind):
    """A run has handed an event out: whether it was noted decides whether it comes again."""
    number, wanted = -1, None  # the first run is not interrupted
    while True:
        number += 1
        engine, events = Engine(TABLES[0], max_running=2), []
        for seed in range(3):
            engine.add([seed], draft=TABLES[1], gamma=2, max_tokens=4, seed=seed)
        engine._batch.told = told = Told(number, behind=behind)
        with contextlib.suppress(KeyboardInterrupt):
            events.extend(engine)
        events += list(engine)
        found = [tellings(event for i, event in events if i == request) for request in range(3)]
        wanted = wanted or found
        assert found == wanted, number
        assert [each.count(("finished",)) for each in found] == [1, 1, 1]
        if told.left > 0:
            break
    assert number > 15


def test_a_policy_hears_of_a_draft_what_it_has_said_of_it():
    """Also from a drafter that asks for no forward: its draft is made before the batch reckons with its rows."""

    class Noting(AutoGamma):
        known = 0

        def observe(self, step):
            Noting.known += len(self._confidences) - len(step.draft_tokens)
            Noting.drafted += len(step.draft_tokens)
            super().observe(step)

    for draft in ("ngram", "suffix", TABLES[1]):
        Noting.known = Noting.drafted = 0
        engine = Engine(TABLES[0])
        engine.add([0, 1, 0, 1], draft=draft, gamma=Noting(), max_tokens=30, min_tokens=30, seed=3)
        engine.run()
        assert (Noting.known, Noting.drafted > 0) == (0, True), draft


@pytest.mark.parametrize("gamma", ["auto:largest={}", "{}"])
@pytest.mark.parametrize("scope", ["session", "process"])
def test_requests_that_remember_each_other_draft_as_their_own_policies_say(gamma, scope):
    """No γ is another's, whatever they find together."""
    engine, largest = Engine(TABLES[0], max_running=4), (1, 6, 2, 5)
    for number, most in enumerate(largest):
        options = {"gamma": gamma.format(most), "fallback": scope, "max_tokens": 30, "min_tokens": 30, "seed": number}
        engine.add([number], draft=TABLES[1], **options)
    for number, made in enumerate(engine.run()):
        assert max(len(step.draft_tokens) for step in made.steps) <= largest[number]


def test_pages_are_promised_once():
    """Requests that come together: what the first will take for its prompt is not there for the last."""
    engine = Engine(TARGET, max_running=3, page_size=2, kv_memory=slot_bytes(TARGET) * 2 * 10)
    for seed in range(3):
        engine.add([1, 2, 3, 4, 5, 6, 7, 8 + seed], draft=None, max_tokens=2, seed=seed)
    engine.step()
    assert (engine.running, engine.waiting) == ((0, 1), (2,))
    engine.run()
    assert engine.num_preemptions == 0


def test_who_cannot_outgrow_his_page_waits_for_no_second_one():
    """As many pages as requests, each of a whole text: all of them run at once."""
    engine = Engine(TARGET, max_running=3, page_size=16, kv_memory=slot_bytes(TARGET) * 16 * 3)
    for seed in range(3):
        engine.add([1, 2, 3], draft=None, max_tokens=13, seed=seed)
    engine.step()
    assert engine.running == (0, 1, 2)
    engine.run()
    assert engine.num_preemptions == 0


@pytest.mark.parametrize(("kind", "forwards"), [("medusa", 1), ("eagle", 3), ("block", 1)])
def test_requests_with_one_head_share_its_forwards(kind, forwards):
    """As many forwards a step as for one text, with the rows of all."""
    engine, num_requests = Engine(TARGET, page_size=4), 5
    for seed in range(num_requests):
        engine.add([1, 2, 3 + seed], draft=name_head(kind), gamma=3, min_tokens=40, max_tokens=40, seed=seed)
    ran, run = [], Head.run

    def count(head, feed, cache):
        ran.append(feed.num_logits)
        return run(head, feed, cache)

    with mock.patch.object(Head, "run", count):
        for _ in range(3):
            engine.step()  # prompts
        for _ in range(3):
            ran.clear()
            engine.step()
            assert ran == [num_requests * 3 // forwards] * forwards
    assert len(engine.running) == num_requests


def test_a_head_alone_finds_room_wherever_the_target_does():
    """The places of a block need slots behind a text that fills the context."""
    prompt, options = [3] * (CONTEXT - 6), {"gamma": 3, "max_tokens": 20, "draft": name_head("block", 16)}
    engine = Engine(TARGET, max_running=1, page_size=4)
    engine.add(prompt, **options)
    assert essence(engine.run()[0]) == essence(generate(prompt, target=TARGET, **options))
    check_memory(engine)


@pytest.mark.parametrize("kind", ["eagle", "block"])
def test_texts_that_begin_alike_share_no_rows_of_a_head(kind):
    """A row of eagle reads two tokens: behind another first token, one that stands on the same tokens is another."""
    engine, prompts = Engine(TARGET, page_size=4), [[3] * 12, [5, *[3] * 12], [3] * 12]
    for i, prompt in enumerate(prompts):  # one after the other: each finds what those before have published
        options = {"gamma": 3, "max_tokens": 12, "seed": i, "draft": name_head(kind)}
        number = engine.add(prompt, **options)
        engine.run()
        assert drafting(engine.generation(number)) == drafting(generate(prompt, target=TARGET, **options))


def test_generate_many_is_generate_for_each():
    prompts = [[1, 2, 3], [4], [1, 2, 3]]
    found = generate_many(prompts, target=TARGET, draft=DRAFT, seed=7, max_tokens=9, concurrency=2)
    wanted = [alone(TARGET, prompt, None, {"seed": 7 + i, "max_tokens": 9}) for i, prompt in enumerate(prompts)]
    assert [each.token_ids for each in found] == [each.token_ids for each in wanted], "by default, plain decoding's"
    assert all(each.reproducible and each.guarantee == "same-seed" for each in found)
    found = generate_many(prompts, target=TARGET, draft=DRAFT, seed=7, max_tokens=9, concurrency=2, gamma=3)
    wanted = [alone(TARGET, prompt, DRAFT, {"seed": 7 + i, "max_tokens": 9}) for i, prompt in enumerate(prompts)]
    assert [essence(each) for each in found] == [essence(each) for each in wanted]


def test_a_budget_holds_twice_as_many_halves():
    """And a draft model that is loaded by name keeps what the engine is told."""
    budget = 10 * 4 * slot_bytes(TARGET)
    assert slot_bytes(HALVES[0]) * 2 == slot_bytes(TARGET)
    assert [Engine(model, page_size=4, kv_memory=budget).models.num_pages for model in (TARGET, HALVES[0])] == [10, 20]
    with mock.patch.object(models_module, "recall_model", return_value=DRAFT) as load:
        Engine(TARGET, kv_dtype="float16").models.load("small")
    assert load.call_args.args == ("small", "panel", "auto", "float16")


def test_texts_that_begin_alike_share_pages_and_forwards():
    """A prompt that has been fed is not fed again, as far as whole pages go."""
    engine = Engine(TARGET, page_size=4)
    prompt = [i % 23 for i in range(30)]
    engine.add(prompt, draft=None, max_tokens=1)
    engine.run()
    fed = engine.num_rows
    engine.add([*prompt, 7], draft=None, max_tokens=1, seed=1)
    assert engine.run()[1].token_ids == alone(TARGET, [*prompt, 7], None, {"max_tokens": 1, "seed": 1}).token_ids
    assert fed == 30
    assert engine.num_rows - fed == 31 - 28


@pytest.mark.parametrize("draft", [None, DRAFT])
def test_the_prompt_of_several_answers_that_come_together_is_fed_once(draft):
    """Of each, only the tokens behind the last whole page in common are fed; who shares no page waits for nobody."""
    model = random_gpt2("panel", n_positions=256, vocab_size=23)
    small = draft and random_gpt2("panel", seed=1, n_layer=1, n_positions=256, vocab_size=23)
    engine, prompt = Engine(model, page_size=4), [i % 19 for i in range(151)]
    for seed in range(3):
        engine.add(prompt, draft=small, gamma=3, max_tokens=1 if draft is None else 3, seed=seed)
    engine.add([*prompt[:3], 5, *prompt[4:]], draft=None, max_tokens=1)
    engine.add([*prompt[:100], *[7] * 20], draft=None, max_tokens=1)
    with mock.patch.object(batch_module, "answer_together", side_effect=batch_module.answer_together) as answers:
        engine.step()
        assert [len(ask.tokens) for ask in answers.call_args_list[0].args[0]] == [64, 64]
        found = engine.run()
    asks = [ask for call in answers.call_args_list for ask in call.args[0] if len(ask.tokens) > 2 or not ask.num_logits]
    read = [sum(len(ask.tokens) for ask in asks if ask.session.model.config.n_layer == n) for n in (2, 1)]
    assert read == [151 + 2 * 3 + 151 + 20, 0 if draft is None else 151 + 2 * 3], "by the target, by the draft model"
    wanted = [
        generate(prompt, target=model, draft=small, max_tokens=1 if draft is None else 3, seed=i) for i in range(3)
    ]
    assert [essence(each) for each in found[:3]] == [essence(each) for each in wanted]
    check_memory(engine)


@pytest.mark.parametrize("prompts", ["one prompt, two answers", "one prompt, three answers", "eight prompts"])
def test_no_first_token_waits_for_a_draft_model(prompts):
    """Each comes in the step that it comes in without drafts, whatever others' draft models have left to read."""
    texts = np.random.default_rng(1).integers(23, size=(8, 300)).tolist()
    asked = {"one prompt, two answers": texts[:1] * 2, "one prompt, three answers": texts[:1] * 3}.get(prompts, texts)
    target, small = TableModel(23, 512, seed=1), TableModel(23, 512, seed=2)

    def first_steps(draft):
        engine, came, number = Engine(target, max_running=16), {}, 0
        for seed, prompt in enumerate(asked):
            engine.add(prompt, draft=draft, max_tokens=6, seed=seed)
        while engine.running or engine.waiting:
            number += 1
            told = engine.step()
            came |= {who: number for who, event in told if isinstance(event, Emitted) and event.step == 0}
        return [came[who] for who in range(len(asked))]

    plain = first_steps(None)
    assert max(plain) > 4, "prompts of several chunks"
    assert first_steps(small) == plain


class Faulty:
    """A drafter, or a policy, of somebody's that raises at its n-th draft or step."""

    timed, name = False, "faulty"

    def __init__(self, last):
        self._left = last

    def prefill(self, tokens):
        pass

    def rollback(self, length):
        pass

    def propose(self, tokens, gamma, coins, more):
        self.observe(None)
        return draft_nothing(5)

    def gamma(self):
        return 2

    def more(self, probs):
        return UNLIMITED

    def observe(self, step):
        self._left -= 1
        if self._left < 0:
            raise ValueError("a fault of one request alone")


def test_a_policy_that_raises_ends_its_own_request_alone():
    """It raises whenever it is taught: that must not keep its run from being left."""
    engine = Engine(TABLES[0])
    bad = engine.add([0], draft=TABLES[1], gamma=Faulty(2), verify="rejection", max_tokens=30, min_tokens=30)
    good = engine.add([1], draft=TABLES[1], gamma=2, verify="rejection", max_tokens=8, min_tokens=8, seed=3)
    with pytest.raises(ValueError, match="one request alone"):
        engine.run()
    assert engine.blamed == bad
    engine.cancel(bad)
    engine.run()
    alone = Engine(TABLES[0])
    alone.add([1], draft=TABLES[1], gamma=2, verify="rejection", max_tokens=8, min_tokens=8, seed=3)
    assert engine.generation(good).token_ids == alone.run()[0].token_ids
    assert engine.models.all_free


def test_what_was_told_is_not_told_again_when_another_request_fails():
    """A first token comes before the draft model has read its prompt, which an older request may be feeding."""
    target, draft = (TableModel(5, 600, seed=seed) for seed in (1, 2))
    for last in range(4, 12):
        engine, told = Engine(target), {}
        engine.add([0], draft=Faulty(last), gamma=1, verify="rejection", max_tokens=40)
        for seed in (1, 2):
            engine.add([i % 5 for i in range(400)], draft=draft, gamma=3, verify="rejection", max_tokens=4, seed=seed)
        while not engine.is_idle:
            try:
                for number, event in engine.step():
                    told.setdefault(number, []).extend(getattr(event, "token_ids", ()))
            except ValueError:
                engine.cancel(engine.blamed)
        assert [tuple(told[number]) for number in (1, 2)] == [engine.generation(number).token_ids for number in (1, 2)]


def test_steps_go_on_where_iterating_stopped():
    engine = Engine(TABLES[0])
    engine.add([1], draft=None, max_tokens=3, min_tokens=3)
    handed_out = next(event for _, event in engine if isinstance(event, Emitted))
    assert handed_out not in [event for _, event in engine.step()]


def test_requests_with_one_prompt_and_a_head_do_not_wait_for_one_another():
    """Nobody shares the rows of a head: the second and the third read theirs side by side."""
    target = random_gpt2("panel", n_positions=700)
    with tempfile.TemporaryDirectory() as folder:
        head = f"eagle:head={write_head(Path(folder), 'eagle', target, length=3)}"
        engine, steps = Engine(target), {}
        for seed in range(3):
            engine.add([i % 90 for i in range(600)], draft=head, gamma=3, verify="rejection", max_tokens=3, seed=seed)
        for step in range(200):
            for number, event in engine.step():
                if isinstance(event, Emitted):
                    steps.setdefault(number, []).append(step)
            if engine.is_idle:
                break
    assert steps[1] == steps[2]


def test_what_a_request_has_fed_itself_is_not_cached_by_another():
    """It is preempted while it reads, and finds its own pages when it comes back."""
    target = TableModel(8, 600, seed=0)
    engine = Engine(target, page_size=1, kv_memory=slot_bytes(target) * 304)
    engine.add([1], draft=None, max_tokens=20, seed=1)
    engine.step()
    late = engine.add([2] * 300, draft=None, max_tokens=3, seed=2)
    cached = [engine.num_cached(number) for number, event in engine if isinstance(event, Prefilled) and number == late]
    assert engine.num_preemptions
    assert cached == [0]


def test_ctrl_c_in_a_pool_beside_the_targets_leaks_nothing():
    """The rounded weights of a self-draft have pages of their own."""
    target = random_gpt2("panel", n_positions=64)

    def start():
        engine = Engine(target, page_size=2, max_running=2)
        for seed in range(2):
            prompt = [1, 2, 3, 4 + seed]
            engine.add(prompt, draft="self:dtype=int8", gamma=3, verify="match", max_tokens=6, seed=seed)
        return engine

    expected = [made.token_ids for made in start().run()]
    line = 1
    while True:
        engine = start()
        if not run_with_interrupt_at(line, engine, [], within="minispec.engine.model.page"):
            break
        assert [made.token_ids for made in engine.run()] == expected
        rounded = round_model(engine.target, "int8")
        assert rounded.pool.num_free == rounded.pool.num_pages, line
        line += 17
    assert line > 500


def test_rows_of_drafts_count_towards_the_budget_of_prompts():
    """Two requests that verify eight rows each leave no room for a second chunk of a prompt."""
    engine, fed = Engine(TARGET, max_running=4, max_rows=20), []
    for seed in range(2):
        engine.add([1], draft=DRAFT, gamma=7, seed=seed, max_tokens=40)
    engine.step()
    for first in (2, 3):
        engine.add([first] * 6, draft=None, max_tokens=1)
    for _ in range(4):
        before = engine.num_rows
        engine.step()
        fed.append(engine.num_rows - before)
    assert fed == [8 + 8 + 6, 8 + 8 + 6, 8 + 8, 8 + 8], fed  # one prompt a step, also where drafts only begin


class TestRefusals:
    def test_a_budget_without_a_page(self):
        with pytest.raises(OptionError, match="kv-memory is 100 bytes; one page of 16 slots"):
            Engine(TARGET, kv_memory=100)

    @pytest.mark.parametrize("gamma", ["load", "budget"])
    def test_two_who_stop_drafting(self, gamma):
        with pytest.raises(OptionError, match=f"gamma is '{gamma}' and fallback 'request'.*Try --fallback off"):
            Engine(TARGET).add([1], draft=DRAFT, gamma=gamma, fallback="request")

    def test_a_budget_too_small_for_one_request(self):
        engine = Engine(TARGET, kv_memory=slot_bytes(TARGET) * 16)
        with pytest.raises(OptionError, match=r"may need 2 pages of 16 slots.*holds 1"):
            engine.add([1] * 10, draft=DRAFT, max_tokens=10)

    def test_two_sessions_of_one_model_in_one_pool(self):
        engine = Engine(TARGET, kv_memory=slot_bytes(TARGET) * 32)
        with pytest.raises(OptionError, match=r"drafting for the request may need 4 pages of 16 slots.*holds 2"):
            engine.add([1] * 20, draft="synthetic:alpha=0.5", max_tokens=10)

    def test_a_tree_that_cannot_lie_beside_the_text(self):
        """Its candidates need slots too, until they are judged; a draft of two levels feeds no more."""
        tree = {"draft": "tree:draft=small,shape=dynamic,nodes=16", "verify": "tree", "gamma": 2}
        with mock.patch.object(models_module, "recall_model", return_value=DRAFT):
            engine = Engine(TARGET, kv_memory=slot_bytes(TARGET) * 32)
            with pytest.raises(OptionError, match=r"may need 3 pages of 16 slots.*holds 2"):
                engine.add([1] * 10, max_tokens=10, **tree)
            engine.add([1] * 10, max_tokens=6, min_tokens=6, **tree)
            assert len(engine.run()[0].token_ids) == 6

    def test_a_drafter_serves_one_prompt(self):
        with pytest.raises(OptionError, match=r"draft is a NgramDrafter, whose state is that of one text.*2 prompts"):
            generate_many([[1], [2]], target=TARGET, draft=NgramDrafter(TARGET.vocab_size))

    @pytest.mark.parametrize("policy", [HeuristicGamma(1), Fallback(HeuristicGamma(1))])
    def test_a_policy_serves_one_prompt(self, policy):
        with pytest.raises(OptionError, match=rf"gamma is a {type(policy).__name__}, whose state is.*2 prompts"):
            generate_many([[1], [2]], target=TARGET, draft=DRAFT, gamma=policy)

    @pytest.mark.parametrize("fallback", ["off", "session"])
    def test_what_has_the_state_of_one_text_serves_one_request_at_a_time(self, fallback):
        engine, policy, drafter = Engine(TABLES[0]), HeuristicGamma(1), NgramDrafter(5)
        engine.add([1], draft=drafter, gamma=policy, fallback=fallback, max_tokens=2)
        with pytest.raises(
            OptionError, match=r"gamma is a HeuristicGamma, whose state is.*request 0 has it\. Name a p"
        ):
            engine.add([2], draft=TABLES[1], gamma=policy)
        with pytest.raises(OptionError, match=r"draft is a NgramDrafter, whose state is.*request 0 has it\. Name a d"):
            engine.add([2], draft=drafter, gamma="heuristic")
        engine.add([2], draft="ngram", gamma=HeuristicGamma(1), max_tokens=2)
        engine.run()
        engine.add([2], draft=drafter, gamma=policy, max_tokens=2)

    @pytest.mark.parametrize("name", ["max_running", "page_size", "max_rows", "kv_memory"])
    @pytest.mark.parametrize("count", [0, -1, 1.5, True, "16", 2**64])
    def test_counts_that_count_nothing(self, name, count):
        rule = rf"{name.replace('_', '-')} is {count!r}; it must be a whole number from 1 to 2\*\*64 - 1"
        with pytest.raises(OptionError, match=rule):
            Engine(TARGET, **{name: count})

    @pytest.mark.parametrize("name", ["seed", "concurrency"])
    @pytest.mark.parametrize("count", [True, "1", None, 2**64])
    def test_counts_of_many_prompts_are_named_as_they_were_given(self, name, count):
        with pytest.raises(OptionError, match=rf"^{name} is {count!r}; it must be a whole number"):
            generate_many([[1]], target=TARGET, draft=None, **{name: count})

    def test_more_pages_than_the_machine_has_memory(self):
        with pytest.raises(OptionError, match=r"pages take [\d,]+\.\d GB, and this machine has .* kv-memory less"):
            Engine(TARGET, kv_memory=10**18)


# ── what would be noticed ───────────────────────────────────────────────────────────────────────────────────────────


def num_differences(draft=DRAFT):
    """Count the texts and drafts that a crowded batch changes: little memory, many departures, the same beginning."""
    prompts = [[1, 2, 3, 4, 5, 6, 7], [4], [1, 2, 3, 4, 5, 6, 7, 8], [2, 3, 4, 5, 6, 7, 1, 9], [9, 9, 1]]
    engine, wanted = Engine(TARGET, max_running=3, page_size=2, kv_memory=slot_bytes(TARGET) * 36), []
    for i, prompt in enumerate(prompts):
        options = {"seed": i, "max_tokens": 4 + 5 * i, "gamma": 1 + i}
        engine.add(prompt, draft=draft, **options)
        wanted.append(generate(prompt, target=TARGET, draft=draft, **options))
    found = engine.run()
    assert engine.num_preemptions > 0
    return sum(
        essence(ours) != essence(theirs) or drafting(ours) != drafting(theirs)
        for ours, theirs in zip(found, wanted, strict=True)
    )


def answers_are_swapped_after_a_departure():
    """Rows that are equally long change places in the first batch that is smaller than the one before."""
    right, before = batch_module.answer_together, [0]

    def wrong(asks):
        answers = right(asks)
        shrunk, before[0] = len(asks) < before[0], len(asks)
        return answers[::-1] if shrunk and len({answer.shape for answer in answers}) == 1 else answers

    return mock.patch.object(batch_module, "answer_together", wrong)


def a_beginning_is_published_under_another_text():
    """Pages are found by a text whose keys and values they do not hold."""

    def publish(self):
        committed = self.stream.tokens
        for session in self.sessions:
            session.cache.publish([*committed[1:7], committed[0]])

    return mock.patch.object(Member, "publish", publish)


def a_preempted_request_loses_its_first_step():
    """It goes on without what its first step emitted."""
    right = Batch._make_room

    def wrong(self):
        victim = right(self)
        del victim.stream._transcript.steps[:1]
        return victim

    return mock.patch.object(Batch, "_make_room", wrong)


def a_preempted_requests_pages_are_taken_while_it_runs():
    """Its pages are given back, and it believes that they still hold its text."""
    right = Batch._leave

    def wrong(self, run):
        kept = [list(session.tokens) for session in run.sessions]
        right(self, run)
        if run.stream.generation.finish_reason != "interrupted":
            return
        for session, tokens in zip(run.sessions, kept, strict=True):
            held = session.cache
            feed = held.feed(tokens)  # pages of others, or blank ones
            held.extend(feed)
            session.tokens = tokens

    return mock.patch.object(Batch, "_leave", wrong)


def everyone_has_the_first_ones_noise():
    right = Engine.add
    return mock.patch.object(
        Engine, "add", lambda self, prompt, **options: right(self, prompt, **{**options, "seed": 0})
    )


def everyone_has_his_neighbours_gamma():
    right = Engine.add

    def wrong(self, prompt, **options):
        return right(self, prompt, **{**options, "gamma": options["gamma"] + 1})

    return mock.patch.object(Engine, "add", wrong)


def a_step_keeps_what_another_request_may_keep():
    """As many drafts as the step before it, whoever took that."""
    right, others = Transcript.commit, [0]

    def wrong(self, draft, verdict, logits, target_probs):
        kept, others[0] = min(others[0], len(draft)), verdict.num_accepted
        return right(self, draft, replace(verdict, num_accepted=kept), logits, target_probs)

    return mock.patch.object(Transcript, "commit", wrong)


def test_a_crowded_batch_changes_nothing():
    assert num_differences() == 0


@pytest.mark.parametrize(
    "mistake",
    [
        answers_are_swapped_after_a_departure,
        a_beginning_is_published_under_another_text,
        a_preempted_request_loses_its_first_step,
        a_preempted_requests_pages_are_taken_while_it_runs,
        everyone_has_the_first_ones_noise,
        everyone_has_his_neighbours_gamma,
        a_step_keeps_what_another_request_may_keep,
    ],
    ids=lambda mistake: mistake.__name__.replace("_", " "),
)
def test_a_mistake_is_noticed(mistake):
    with mistake(), contextlib.suppress(InvariantError, OptionError):  # which notices it sooner still
        assert num_differences() > 0


def goes_on_as_alone():
    """Whether a text that begins with all of another's is drafted, to the bit, as it is alone."""
    engine, options = Engine(TARGET, page_size=2), {"draft": DRAFT, "gamma": 3, "seed": 1}
    engine.add([1, 2, 3], max_tokens=20, **options)
    first = engine.run()[0]
    assert first.metrics.num_accepted_tokens < first.metrics.num_draft_tokens
    text = [1, 2, 3, *first.token_ids, 4]
    engine.add(text, max_tokens=9, **options)
    found, wanted = engine.run()[1], generate(text, target=TARGET, max_tokens=9, **options)
    return essence(found) == essence(wanted) and drafting(found) == drafting(wanted)


def test_only_what_was_verified_is_shared():
    """Unlike in a loop that publishes its pages before what was rejected is taken out of them."""
    assert goes_on_as_alone()
    going_back = "target.rollback(len(transcript.tokens) - 1)"
    with edit(run_module, "decode", going_back, f"target.cache.publish(transcript.tokens), {going_back}"):
        assert not goes_on_as_alone()


@pytest.mark.parametrize("field", ["features", "origins", "pages"])
@pytest.mark.parametrize("kind", ["medusa", "eagle", "block"])
def test_a_row_of_a_head_that_is_given_anothers_is_noticed(kind, field):
    """Requests that share a head's forwards, each with what a row of the one before it was given."""
    assert num_differences(name_head(kind)) == 0
    if (kind, field) == ("medusa", "pages"):
        return  # it has no cache to look at

    def wrong(feeds):
        joined = join(feeds)
        if len(feeds) == 1 or not isinstance(joined, HeadFeed):
            return joined
        return replace(joined, **{field: np.roll(getattr(joined, field), 1, axis=0)})

    join = together.join
    with mock.patch.object(together, "join", wrong):
        assert num_differences(name_head(kind)) > 0


def test_a_draft_that_is_named_has_one_set_of_pages():
    models = models_module.SharedModels(
        "draft-0.6m", "panel", "float32", None, "auto", num_texts=2, kv_memory=None, page_size=16
    )
    named = models.load("draft-1.6m")
    assert models.find_draft("draft-1.6m", Options()) is named
    few = models.find_draft("draft-1.6m:words=3072", Options())
    assert few is models.find_draft("draft-1.6m:words=3072", Options())
    assert few.pool is named.pool


def test_a_whole_and_two_trimmed_heads_of_one_draft_keep_their_texts_apart():
    drafts = ["draft-0.6m", "draft-0.6m:words=3072", "draft-0.6m:words=1024", None]
    requests = [
        {"prompt": "Once upon a time", "draft": draft, "gamma": 3, "seed": seed, "max_tokens": 12}
        for seed, draft in enumerate(drafts)
    ]
    engine = Engine("draft-1.6m", max_running=4)
    numbers = [engine.add(**request) for request in requests]
    engine.run()
    for number, request in zip(numbers, requests, strict=True):
        alone = generate(target="draft-1.6m", **request)
        found = engine.generation(number)
        assert (found.token_ids, found.sources) == (alone.token_ids, alone.sources)
