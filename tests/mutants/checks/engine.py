"""What the loop does: the law of its text, its sources, its forwards, its ends and its figures."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np

from minispec.engine.control import FixedGamma
from minispec.engine.drafters import ModelDrafter
from minispec.engine.generation import Drafted, Emitted, Stream, api
from minispec.engine.generation.options import Options
from minispec.engine.generation.stopping import Limits
from minispec.engine.laws import Enumerator, ending, total_variation
from minispec.engine.model.toy import TableModel
from minispec.engine.model.tree_session import TreeSession
from minispec.engine.noise import Address, Coins, Noise
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.records import Draft
from minispec.engine.sampling import Sampler
from minispec.engine.verifiers import get_verifier
from tests.engine.laws import space
from tests.engine.laws.oracle import slow_logits, slow_row
from tests.engine.laws.space import BEGUN, FIRST, LOADED, PLAIN, PROMPT, models_by_name
from tests.engine.laws.theory import race_lost, sources_law
from tests.models import random_gpt2

from .base import CHECKS, Check, check

# ── laws, of cases of the law suite's space ─────────────────────────────────────────────────────────────────────────

MIDDLE = {"verify": "rejection", "draft": "model", "policy": "2", "processors": "plain", "stop": "budget"}

LAWS = {
    "law of rejection": {},
    "law of block": {"verify": "block"},
    "law of match": {"verify": "match"},
    "law of n-gram": {"draft": "ngram"},
    "law of translation": {"draft": "translated", "policy": "1"},
    "law of synthetic": {"draft": "synthetic"},
    "law of cascade": {"draft": "cascade of n-gram", "stop": "eos"},
    "law of layer skip": {"draft": "layer skip"},
    "law of small window": {"draft": "small window"},
    "law of temperature": {"processors": "temperature"},
    "law of greedy": {"processors": "greedy"},
    "law of top-k": {"processors": "top-k"},
    "law of top-p": {"processors": "top-p"},
    "law of min-p": {"processors": "min-p"},
    "law of repetition": {"processors": "repetition"},
    "law of presence and frequency": {"processors": "presence and frequency"},
    "law of minimum length": {"processors": "min tokens", "stop": "eos"},
    "law of regex": {"processors": "regex", "stop": "eos"},
    "law of eos": {"stop": "eos"},
    "law of stop string": {"stop": "stop string"},
    "law of context": {"stop": "context"},
    "law of confidence": {"policy": "confidence"},
    "law of fallback": {"policy": "fallback", "processors": "top-k"},
    "law of auto": {"policy": "auto"},
}


@functools.cache
def _case(name: str) -> tuple[dict[str, str], Any]:
    case = {**MIDDLE, **LAWS[name]}
    return case, space.target_of(case)


@functools.cache
def _wanted(name: str) -> Any:
    return space.wanted_law(*_case(name))


def _law_distance(name: str) -> float:
    return total_variation(space.engine_law(*_case(name)), _wanted(name))


for _name, _levels in LAWS.items():
    CHECKS[_name] = Check(
        "law",
        "the exact law of (ids, text, reason, stop): " + " | ".join({**MIDDLE, **_levels}.values()),
        functools.partial(_law_distance, _name),
    )


for _siblings in ("with", "without", "likeliest"):
    CHECKS[f"law of tree {_siblings}"] = Check(
        "law",
        f"the exact law of two tokens of four, two siblings at each node: tree | siblings {_siblings}",
        functools.partial(space.tree_distance, "tree", "2", _siblings),
    )


def _row_table(rows: dict[int, list[float]]) -> TableModel:
    """The same row for every prefix of a length; the last one for longer ones."""
    table = {}
    for length in range(1, 8):
        row = rows[min(max(length, min(rows)), max(rows))]
        for prefix in itertools.product(range(len(row)), repeat=length):
            table[prefix] = row
    return TableModel(len(row), table=table)


_TIED = _row_table({3: [0.1, 0.35, 0.35, 0.2], 4: [0.3, 0.2, 0.3, 0.2]})


@check("law", "two tokens tie for the last place of top-k, and for the argmax: the lower id wins")
def law_of_ties() -> float:
    draft, cases = TableModel(4, seed=5), ({"top_k": 1}, {"top_k": 3}, {"temperature": 0.0})
    return max(space.distance_of(_TIED, draft, max_tokens=3, **options) for options in cases)


_HALVES = [_row_table({3: [0.5, 0.5, 0.0, 0.0]}), _row_table({3: [0.0, 0.0, 0.3, 0.7]})]


@check("law", "draft and target have no token in common")
def law_of_disjoint_supports() -> float:
    return space.distance_of(*_HALVES, max_tokens=3)


_ZERO_ENDS = TableModel(3, seed=11, eos_token_id=frozenset({0}))


@check("law", "the end of the text is token 0, and token 0 is in the prompt")
def law_of_token_zero() -> float:
    return space.distance_of(_ZERO_ENDS, TableModel(3, seed=12), gamma=2, max_tokens=4)


# ── tokens and sources ──────────────────────────────────────────────────────────────────────────────────────────────


@functools.cache
def _chain(seed_name: str) -> Callable[[tuple[int, ...]], np.ndarray]:
    model = space.table_target(eos=False) if seed_name == "target" else LOADED["table"]
    sampling = Options(**PLAIN)
    return functools.cache(
        lambda text: np.array(slow_row(slow_logits(model, (*BEGUN, *text)), sampling, (FIRST, *text), PROMPT))
    )


@functools.cache
def _wanted_sources(rule: str) -> Any:
    return sources_law(rule, _chain("target"), _chain("draft"), 2, 3)


def _sources_distance(rule: str) -> float:
    target = space.table_target(eos=False)

    def run(noise: Noise) -> Any:
        options = {**PLAIN, "verify": rule, "gamma": 2, "max_tokens": 4}
        generation = api.stream(PROMPT, target=target, draft="table", noise=noise, **options).run()
        return tuple(zip(generation.token_ids[1:], generation.sources[1:], strict=True))

    with models_by_name():
        return total_variation(Enumerator(run).law(), _wanted_sources(rule))


for _rule in ("rejection", "block", "match"):
    CHECKS[f"sources of {_rule}"] = Check(
        "sources",
        f"the joint law of tokens and their sources under {_rule}, against its theorem",
        functools.partial(_sources_distance, _rule),
    )


# ── same seed ───────────────────────────────────────────────────────────────────────────────────────────────────────


@functools.cache
def _plain_text(seed: int) -> tuple[int, ...]:
    """Plain sampling by the slow oracle and the noise alone: no engine."""
    target, sampling, text = space.table_target(eos=False), Options(**PLAIN), ()
    while len(text) < 12:
        row = slow_row(slow_logits(target, (*PROMPT, *text)), sampling, text, PROMPT)
        text += (PhiloxNoise(seed).categorical(np.array(row), Address("sample", len(PROMPT) + len(text))),)
    return text


def _differing_texts(**options: Any) -> float:
    """Share of 8 seeds whose text is not that of plain sampling."""
    target = space.table_target(eos=False)
    with models_by_name():
        texts = [
            api.stream(PROMPT, target=target, seed=seed, max_tokens=12, **{**PLAIN, "draft": "table", **options})
            .run()
            .token_ids
            for seed in range(8)
        ]
    return float(np.mean([text != _plain_text(seed) for seed, text in enumerate(texts)]))


@check("seed", "match emits plain sampling's text with every seed, seed 0 included")
def same_seed_under_match() -> float:
    return _differing_texts(verify="match", gamma=3)


@check("seed", "gumbel emits plain sampling's text with every seed")
def same_seed_under_gumbel() -> float:
    return _differing_texts(verify="gumbel", gamma=3)


@check("seed", "with gamma 0 every rule emits plain sampling's text")
def same_seed_without_drafts() -> float:
    return max(_differing_texts(verify=rule, gamma=0) for rule in ("rejection", "block", "tree", "match"))


@check("seed", "match with a fallback emits plain sampling's text, through its pauses too")
def same_seed_with_fallback() -> float:
    return _differing_texts(verify="match", gamma=3, fallback="request")


@check("seed", "plain decoding emits the text that noise and oracle give")
def same_seed_of_plain_decoding() -> float:
    return _differing_texts(draft=None)


@check("counter", "gumbel accepts 1 - P(two coupled races differ): 800 seeds, 0 within Hoeffding's bound at 1e-9")
def acceptance_of_gumbel() -> float:
    runs, accepted = 800, 0
    target = space.table_target(eos=False)
    for seed in range(runs):
        options = {**PLAIN, "verify": "gumbel", "gamma": 1, "max_tokens": 3, "seed": seed}
        accepted += api.stream(PROMPT, target=target, draft=LOADED["table"], **options).run().steps[1].num_accepted
    bound = math.sqrt(math.log(2e9) / (2 * runs))
    off = abs(accepted / runs - (1.0 - race_lost(_chain("target")(()), _chain("draft")(()))))
    return max(0.0, off - bound)


# ── greedy, caches, costs ───────────────────────────────────────────────────────────────────────────────────────────

_GPT2 = random_gpt2("numba", seed=4, vocab_size=11, n_embd=12, n_head=3, n_layer=2, n_positions=24)
_SMALL = random_gpt2("numba", seed=5, vocab_size=11, n_embd=12, n_head=3, n_layer=1, n_positions=24)


@functools.cache
def _greedy_text(start: int) -> tuple[int, ...]:
    text = [start, 1]
    while len(text) < 20:
        text.append(int(np.argmax(_GPT2.logits(text)[-1])))
    return tuple(text[2:])


@check("trace", "greedy text of a GPT-2 whose every logit depends on every slot, against uncached logits")
def greedy_identity() -> float:
    wrong = 0
    for start, gamma in itertools.product(range(4), (1, 3)):
        for draft in (_SMALL, _GPT2, "layerskip:k=1"):
            ids = (
                api.stream([start, 1], target=_GPT2, draft=draft, gamma=gamma, temperature=0.0, max_tokens=18)
                .run()
                .token_ids
            )
            wrong += ids != _greedy_text(start)
    return float(wrong)


@functools.cache
def _sampled_text(seed: int) -> tuple[int, ...]:
    """Plain sampling of the GPT-2, by uncached logits and the noise alone."""
    sampling, text = Options(**PLAIN), [0, 1]
    while len(text) < 20:
        row = slow_row(_GPT2.logits(text)[-1], sampling, text[2:], (0, 1))
        text.append(PhiloxNoise(seed).categorical(np.array(row), Address("sample", len(text))))
    return tuple(text[2:])


@check("trace", "sampled text with trees of three shapes under match, against uncached logits")
def uncached_text_with_trees() -> float:
    wrong = 0
    for seed, shape, siblings in itertools.product(range(3), ("2x2", "3x1x1", "1x2x2"), ("with", "without")):
        with models_by_name_of(small=_GPT2):
            ids = api.stream(
                [0, 1], target=_GPT2, draft=f"tree:draft=small,shape={shape},siblings={siblings}", verify="match",
                gamma=3, seed=seed, max_tokens=18, **PLAIN,
            ).run().token_ids  # fmt: skip
        wrong += ids != _sampled_text(seed)
    return float(wrong)


@contextlib.contextmanager
def models_by_name_of(**models: Any) -> Iterator[None]:
    """Load these as drafts, by their names."""
    with models_by_name(), mock.patch.object(api, "recall_model", lambda name, *args, **options: models[name]):
        yield


class CountingTarget(TableModel):
    """Counts rows and forwards, whatever the session believes."""

    forwards = 0
    rows = 0

    def forward(self, tokens, *args, **options):
        self.forwards += 1
        self.rows += len(tokens)
        return super().forward(tokens, *args, **options)


class Plan:
    """Accepts ``plan[i]`` drafts of the i-th step that drafts and rejects the next; all else is pseudo-random."""

    def __init__(self, plan: tuple[int, ...]) -> None:
        self._plan, self._start, self._other = plan, {}, PhiloxNoise(0)

    def bernoulli(self, prob: float, at: Any) -> bool:
        first = self._start.setdefault(at.step, at.position)
        return at.position - first < self._plan[at.step - 1]

    def categorical(self, probs: Any, at: Any) -> int:
        return self._other.categorical(probs, at)


_PLAN = (4, 2, 0)


def _planned(target: TableModel, draft: TableModel) -> Any:
    stream = api.stream(PROMPT, target=target, draft=draft, noise=Plan((*_PLAN, 0)), gamma=4, max_tokens=30, **PLAIN)
    while len(stream.generation.steps) < 1 + len(_PLAN):
        next(stream)
    return stream


@check("cost", "one forward per step over the pending token and the draft; nothing is fed twice")
def cost_of_the_target() -> float:
    target = CountingTarget(5, seed=1)
    _planned(target, TableModel(5, seed=2))
    return abs(target.forwards - (1 + 3)) + abs(target.rows - (len(PROMPT) + 3 * 5))


@check("cost", "the draft feeds one token, or two after a full acceptance")
def cost_of_the_draft() -> float:
    draft = CountingTarget(5, seed=2)
    _planned(TableModel(5, seed=1), draft)
    return abs(draft.forwards - (1 + 3 * 4)) + abs(draft.rows - (len(PROMPT) + 4 + 5 + 4))


@check("cost", "a draft model reads a long prompt in chunks, once it is to draft: never before the first token")
def cost_of_the_first_token() -> float:
    wrong, prompt = 0, [int(i % 7 == 0) for i in range(150)]
    for options, chunks in (
        ({"gamma": 2}, 3),
        ({"gamma": 2, "fallback": "request"}, 3),
        ({"gamma": 0}, 0),
    ):
        for budget, ends in (1, ()), (9, range(5)), (9, ()):
            draft = CountingTarget(5, 512, seed=2)
            target = TableModel(5, 512, seed=1, eos_token_id=frozenset(ends))
            stream = api.stream(prompt, target=target, draft=draft, max_tokens=budget, **PLAIN, **options)
            next(event for event in stream if isinstance(event, Emitted))
            wrong += draft.forwards
            drafted = stream.run().metrics.num_draft_tokens
            wrong += draft.forwards != (0 if budget == 1 or ends else chunks + drafted)
    return float(wrong)


@check("cost", "a drafter that is the target yields gamma + 1 tokens per forward, accepted and bonus")
def cost_of_a_perfect_draft() -> float:
    target = CountingTarget(5, seed=3)
    generation = api.stream(PROMPT, target=target, draft=target, gamma=3, max_tokens=13, **PLAIN).run()
    lengths = [len(step.tokens) for step in generation.steps]
    sources = ("plain", *("accepted", "accepted", "accepted", "bonus") * 3)
    return float(lengths != [1, 4, 4, 4]) + float(generation.sources != sources)


@check("cost", "nothing is drafted beyond the room that is left minus the token the target adds")
def cost_of_the_last_step() -> float:
    wasted = 0
    for budget in range(1, 6):
        stream = api.stream(PROMPT, target=TableModel(5, seed=1), draft=TableModel(5, seed=2), max_tokens=budget)
        for event in stream:
            if isinstance(event, Drafted):
                emitted = event.position - len(PROMPT)
                wasted += max(0, len(event.tokens) - (budget - emitted - 1))
    return float(wasted)


class _Uncached(TreeSession):
    """Compares each forward with one of an empty cache."""

    differences = 0

    def score(self, tokens, num_logits=None):
        before = list(self.tokens)
        logits = super().score(tokens, num_logits)
        if num_logits != 0:
            fresh = self.model.logits([*before, *tokens])[-len(logits) :]
            _Uncached.differences += not np.array_equal(logits, fresh)
        return logits


@check("trace", "cached logits equal uncached ones bit for bit, target and draft, with rejections everywhere")
def cached_logits() -> float:
    _Uncached.differences = 0
    for plan in ((0, 1, 2), (2, 2, 0), (1, 0, 2)):
        sampler = Sampler(Options(**PLAIN))
        drafter = ModelDrafter(_Uncached(_SMALL), sampler)
        stream = Stream(
            PROMPT,
            _Uncached(_GPT2),
            drafter,
            sampler,
            Plan((*plan, 0, 0, 0, 0, 0)),
            Limits(sum(plan) + 4, 24),
            policy=FixedGamma(2),
        )
        stream.run()
    return float(_Uncached.differences)


# ── ends ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Text(TableModel):
    """Certain of one text, wrong at every third place if ``errs``."""

    def __init__(self, text: list[int], n_positions: int, *, errs: bool) -> None:
        super().__init__(5, n_positions, eos_token_id=frozenset({4}))
        self._text, self._errs = text, errs

    def next_probs(self, prefix):
        place = len(prefix) - len(PROMPT)
        token = self._text[place] if place < len(self._text) else 0
        return np.eye(5)[(token + 1) % 4 if self._errs and place % 3 == 2 else token]


@check("trace", "EOS by budget by context: every length equals that of the token-by-token rules")
def ends() -> float:
    wrong = 0
    prompt = (4, *PROMPT[1:])  # an end-of-text token in the prompt ends nothing
    for eos_at, budget, room in itertools.product((None, 0, 1, 3, 4), (0, 1, 2, 4, 6), (1, 2, 3, 5, 8)):
        text = [(7 * i + 1) % 4 for i in range(12)]
        if eos_at is not None:
            text[eos_at] = 4
        n_positions = len(prompt) + room
        limits = Limits(budget, n_positions, eos_token_id=frozenset({4}))
        wanted = next(end for n in range(13) if (end := ending(text[:n], limits, len(prompt))) is not None)
        for errs in (False, True):
            generation = api.stream(
                prompt,
                target=_Text(text, n_positions, errs=False),
                draft=_Text(text, 64, errs=errs),
                gamma=3,
                max_tokens=budget,
                **PLAIN,
            ).run()
            wrong += (generation.token_ids, generation.finish_reason) != (wanted.token_ids, wanted.finish_reason)
    return float(wrong)


# ── figures ─────────────────────────────────────────────────────────────────────────────────────────────────────────

_WORKED_EXAMPLE = {
    "num_prompt_tokens": 2,
    "num_tokens": 10,
    "num_decode_tokens": 9,
    "num_steps": 3,
    "num_drafts": 3,
    "num_draft_tokens": 12,
    "num_accepted_tokens": 6,
    "num_evaluated_tokens": 8,
    "num_accepted_tokens_per_pos": (2, 2, 1, 1),
    "mean_acceptance_length": 3.0,
    "draft_acceptance_rate": 0.5,
    "alpha": 0.75,
}


@check("counter", "gamma 4, accepted 4, 2, 0: the figures worked out by hand")
def worked_example() -> float:
    metrics = _planned(TableModel(11, seed=1), TableModel(11, seed=2)).generation.metrics
    return float(sum(getattr(metrics, key) != value for key, value in _WORKED_EXAMPLE.items()))


@check("counter", "a draft that is cut short counts what was drafted, not gamma")
def figures_of_the_last_step() -> float:
    target = TableModel(5, seed=3)
    metrics = api.stream(PROMPT, target=target, draft=target, gamma=3, max_tokens=7, **PLAIN).run().metrics
    wanted = {"num_draft_tokens": 4, "num_accepted_tokens": 4, "num_tokens": 7, "num_steps": 2, "num_drafts": 2}
    return float(sum(getattr(metrics, key) != value for key, value in wanted.items()))


# ── inputs stay as they are ─────────────────────────────────────────────────────────────────────────────────────────


@check("trace", "rules leave the draft's and the target's rows as they were")
def rows_are_read_only() -> float:
    changed = 0
    target_rows, draft_rows = np.random.default_rng(0).dirichlet(np.ones(4), 3), np.full((2, 4), 0.25)
    for rule, accepted in itertools.product(("rejection", "block", "tree", "match", "gumbel"), range(3)):
        rows = (target_rows.copy(), draft_rows.copy())
        get_verifier(rule).verify(Draft((0, 3), rows[1]), rows[0], Coins(Plan((accepted,)), position=3))
        changed += not (np.array_equal(rows[0], target_rows) and np.array_equal(rows[1], draft_rows))
    return float(changed)
