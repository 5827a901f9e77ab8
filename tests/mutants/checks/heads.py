"""Drafts that look inside the target: against their formulas, themselves after a history, and themselves alone."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import numpy as np

from minispec.engine.batching import Engine
from minispec.engine.drafters import Drafter, build_drafter
from minispec.engine.drafters.base import allow_all
from minispec.engine.generation import Generation, api
from minispec.engine.model.asks import answer
from minispec.engine.model.tree_session import TreeSession
from minispec.engine.noise import Coins
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.records import Draft
from minispec.engine.sampling import Sampler, SamplingParams
from tests.engine.drafters.head_twin import SIZES, WORDS, expect, target_of
from tests.engine.drafters.random_head import write_head
from tests.engine.laws.space import PLAIN, distance_of, layered_target

from .base import check

KINDS = ("medusa", "eagle", "block")
PARAMS = SamplingParams(temperature=1.0, top_p=1.0)
_FOLDER = tempfile.TemporaryDirectory()


@functools.cache
def _head(kind: str) -> str:
    words = () if kind == "medusa" else WORDS
    return write_head(Path(_FOLDER.name) / kind, kind, target_of("numba"), words=words, length=4)


@functools.cache
def _small_head(kind: str) -> str:
    return write_head(Path(_FOLDER.name) / f"{kind}-small", kind, layered_target(eos=False))


def _open(kind: str) -> tuple[TreeSession, Drafter]:
    session = TreeSession(target_of("numba"))
    return session, build_drafter(f"{kind}:head={_head(kind)}", session, Sampler(PARAMS), load_model=lambda name: None)


def _propose(drafter: Drafter, tokens: list[int]) -> Draft:
    return answer(drafter.propose(tokens, 3, Coins(PhiloxNoise(0), position=len(tokens)), allow_all))


def _start(kind: str, tokens: list[int]) -> tuple[TreeSession, Drafter]:
    session, drafter = _open(kind)
    session.prefill(tokens[:-1])
    answer(drafter.prefill(tokens[:-1]))
    return session, drafter


def _text(length: int) -> list[int]:
    return np.random.default_rng(length).integers(0, SIZES["vocab_size"], length).tolist()


@check("value", "rows of drafts of heads, against their formulas over the whole text")
def _rows_of_heads() -> float:
    worst = 0.0
    for kind in KINDS:
        tokens = _text(80)
        draft = _propose(_start(kind, tokens)[1], tokens)
        wanted = expect(kind, _head(kind), tokens, draft.tokens)
        wrong = float(np.abs(draft.probs - wanted[: len(draft)]).max())
        worst = max(worst, wrong if wrong > 1e-4 else 0.0)  # float32 against float64
    return worst


@check("value", "rows of the first children in trees of heads, against their formulas along each path")
def _rows_of_trees_of_heads() -> float:
    worst, tokens = 0.0, _text(30)
    for kind in KINDS:
        session = TreeSession(target_of("numba"))
        draft = f"tree:draft={kind}:head={_head(kind)},shape=2x2x1"
        drafter = build_drafter(draft, session, Sampler(PARAMS), load_model=lambda name: None)
        session.prefill(tokens[:-1])
        answer(drafter.prefill(tokens[:-1]))
        made = _propose(drafter, tokens)
        paths = list(made.paths())
        for node in (0, 2, 4, 6, 7, 8, 9):
            path = paths[made.parents[node] + 1]
            wanted = expect(kind, _head(kind), tokens, path)[len(path)]
            wrong = float(np.abs(made.probs[node] - wanted).max())
            worst = max(worst, wrong if wrong > 1e-4 else 0.0)
    return worst


@check("value", "rows of drafts of heads after rejected drafts and a tree, against those of a new drafter")
def _heads_after_a_history() -> float:
    wrong = 0
    for kind in KINDS:
        tokens = _text(9)
        session, drafter = _start(kind, tokens)
        for committed, tree in ([3], False), ([4, 8], True), ([1, 2, 3], True), ([6], False):
            _propose(drafter, tokens)
            pending = tokens[session.length :]
            if tree:
                session.score_tree(pending, [7, *committed], [-1, -1, *range(1, len(committed))])
                session.keep(range(1, len(committed) + 1))
            else:
                session.score([*pending, *committed, 11, 12])
            tokens += [*committed, 5]
            session.rollback(len(tokens) - 1)
            drafter.rollback(len(tokens) - 1)
        wrong += int((_propose(drafter, tokens).probs != _propose(_start(kind, tokens)[1], tokens).probs).sum())
        session.rollback(6)  # the text itself goes back, and on with other tokens
        drafter.rollback(6)
        tokens[6:] = [8, 9]
        session.score(tokens[6:7])
        wrong += int((_propose(drafter, tokens).probs != _propose(_start(kind, tokens)[1], tokens).probs).sum())
    return float(wrong)


@check("law", "the law of texts with drafts of heads, against the target's")
def _law_of_heads() -> float:
    target = layered_target(eos=False)
    return max(distance_of(target, f"{kind}:head={_small_head(kind)}", gamma=2, max_tokens=4) for kind in KINDS)


def _drafts(made: Generation) -> list[tuple[int, ...]]:
    return [step.draft_tokens for step in made.steps]


@check("seed", "drafts and sources of texts that heads draft for, together behind a published beginning, against alone")
def _heads_together() -> float:
    beginning, model = _text(12), target_of("numba")
    requests = [{"prompt": [*beginning, i], "draft": draft, "gamma": 3, "seed": i, "max_tokens": 24, **PLAIN}
                for i, draft in enumerate([None, *(f"{kind}:head={_head(kind)}" for kind in KINDS)])]  # fmt: skip
    engine = Engine(model, max_running=1, page_size=4)
    found = []
    for request in requests:  # one after the other: the first, without a head, publishes what the others take up
        number = engine.add(**request)
        engine.run()
        found.append(engine.generation(number))
    alone = [api.generate(target=model, **request) for request in requests]
    differing = [_drafts(a) != _drafts(b) or a.sources != b.sources for a, b in zip(found, alone, strict=True)]
    return sum(differing) / len(differing)


@check("seed", "texts and sources of requests that share the forwards of a head, against alone")
def _heads_in_one_forward() -> float:
    model, wrong, num_requests = target_of("numba"), 0, 4
    for kind in KINDS:
        draft = f"{kind}:head={_head(kind)}"
        requests = [{"prompt": _text(9 + i), "draft": draft, "gamma": 3, "seed": i, "max_tokens": 24, **PLAIN}
                    for i in range(num_requests)]  # fmt: skip
        engine = Engine(model, max_running=num_requests, page_size=4)
        numbers = [engine.add(**request) for request in requests]
        engine.run()
        for number, request in zip(numbers, requests, strict=True):
            found, alone = engine.generation(number), api.generate(target=model, **request)
            wrong += (found.token_ids, found.sources) != (alone.token_ids, alone.sources)
    return wrong / (num_requests * len(KINDS))
