"""Texts that share a memory and forwards, against each of them alone; who runs, and how far they draft, by hand."""

from __future__ import annotations

import contextlib
import functools
import itertools
import random

import numpy as np

from minispec.engine.batching import Engine
from minispec.engine.batching.scheduler import Scheduler
from minispec.engine.control.load import Load, LoadGamma, RowTimes
from minispec.engine.generation import api
from minispec.engine.model.asks import Ask
from minispec.engine.model.pages import OutOfPagesError
from minispec.engine.model.together import answer_together
from minispec.engine.model.toy import TableModel
from minispec.engine.model.tree_session import AskTree, TreeSession
from minispec.engine.records import Step, Verdict
from tests.engine.laws.space import PLAIN
from tests.engine.laws.test_company import by_load, distance
from tests.models import random_gpt2

from .base import check

_MODEL = random_gpt2("numba", seed=9, n_positions=64, n_embd=12, n_layer=2, n_head=3, vocab_size=11)


@functools.cache
def _alone(text: tuple[int, ...]) -> np.ndarray:
    return _MODEL.logits(text)[-1]


@check("trace", "texts that grow, branch, go back, publish and adopt in few pages: logits of each as if it were alone")
def texts_in_pages() -> float:
    generator, wrong = random.Random(0), 0
    model = _MODEL.with_pages(16, 4)
    begun = [[first, 1, 2, 0, *[1] * 4, *[2] * 4, 0] for first in (0, 3)]  # alike from their second page on
    sessions = [TreeSession(model) for _ in range(4)]
    for _ in range(200):
        session = generator.choice(sessions)
        with contextlib.suppress(OutOfPagesError):
            match generator.randrange(5):
                case 0 | 1:
                    session.rollback(0)
                    session.prefill(generator.choice(begun))
                    session.cache.publish(session.tokens)
                case 2:
                    session.rollback(generator.randrange(session.length + 1))
                case 3:
                    text = list(session.tokens)
                    session.score_tree([5], [1, 2, 3], [-1, -1, 1])
                    session.keep([1, 2])
                    wrong += session.tokens != [*text, 5, 2, 3]
                case 4:
                    session.score(generator.choices(range(11), k=3), 0)
            if session.length > 40:
                session.rollback(3)
            row = session.score([7])[0]
            wrong += not np.array_equal(row, _alone(tuple(session.tokens)))
        wrong += model.pool.num_free != 16 - len({page for each in sessions for page in each.cache._table})
    for session in sessions:
        session.rollback(0)
    return float(wrong + (model.pool.num_free != 16))


@check("trace", "chains, trees and prompts of five texts, answered by one forward with the bits of one for each")
def answers_together() -> float:
    wrong = 0
    for order in ([0, 1, 2, 3, 4], [3, 1, 4, 0, 2]):
        model, asks, wanted = _MODEL.with_pages(40, 4), [], []
        for number in range(5):
            session, text = TreeSession(model), [(number + i) % 11 for i in range(3 + 5 * number)]
            session.prefill(text)
            if number in (1, 3):
                asks.append(AskTree(session, [9], 3, [1, 2], [-1, 0]))
                wanted.append([_alone((*text, 9)), _alone((*text, 9, 1)), _alone((*text, 9, 1, 2))])
            elif number == 2:
                asks.append(Ask(session, [8, 9, 10], num_logits=0))
                wanted.append([])
            else:
                asks.append(Ask(session, [8, 9, 10], num_logits=2))
                wanted.append([_alone((*text, 8, 9)), _alone((*text, 8, 9, 10))])
        for i, rows in zip(order, answer_together([asks[i] for i in order]), strict=True):
            wrong += len(rows) != len(wanted[i])
            wrong += sum(not np.array_equal(row, alone) for row, alone in zip(rows, wanted[i], strict=False))
        for ask in asks:
            session = ask.session
            wrong += not np.array_equal(session.score([6])[0], _alone(tuple(session.tokens)))
    return float(wrong)


@check("trace", "requests decoded together, in enough memory and in too little, have the tokens each has alone")
def requests_together() -> float:
    wrong = 0
    target, draft = TableModel(5, 48, seed=1), TableModel(5, 48, seed=2)
    requests = [
        {"prompt": [number % 5, 1, *([2, 3] * (3 * (number % 3)))], "draft": (draft, None)[number % 2], "seed": number,
         "gamma": 1 + number % 3, "verify": ("rejection", "block", "match")[number % 3], "max_tokens": 6 + 2 * number}
        for number in range(6)
    ]  # fmt: skip
    alone = [api.generate(target=target, **PLAIN, **request).token_ids for request in requests]
    for settings in ({}, {"kv_memory": 4 * 16 * 8}, {"max_running": 2, "max_rows": 5}):
        engine = Engine(target, page_size=4, **settings)
        for request in requests:
            engine.add(**PLAIN, **request)
        wrong += [generation.token_ids for generation in engine.run()] != alone
    return float(wrong)


@check("value", "who is admitted, fed and preempted: first come first served, and the youngest makes room")
def order_of_requests() -> float:
    scheduler = Scheduler(max_running=3, max_rows=10)
    for request in (0, 1, 2, 3, 4):
        scheduler.add(request)
    found = [scheduler.admit(lambda request: request != 2) for _ in range(4)]  # 2 does not fit, and none overtakes it
    found += [scheduler.admit(lambda request: True), scheduler.admit(lambda request: True), scheduler.preempt()]
    scheduler.remove(0)
    found += [scheduler.running[:], scheduler.waiting[:], scheduler.admit(lambda request: True)]
    found.append(scheduler.choose_prefills([(2, 4), (1, 5)], 2))
    found.append(scheduler.choose_prefills([(1, 20)], 9))
    found.append(scheduler.choose_prefills([(1, 3), (2, 6), (3, 1)], 2))
    wanted = [0, 1, None, None, 2, None, 2, [1], [2, 3, 4], 2, [1], [1], [1]]
    return float(found != wanted)


@check("value", "gamma of each request of a batch, by trying every length on times and acceptances that are known")
def lengths_of_a_batch() -> float:
    wrong = 0
    companies = [(0, (9, 1)), (2, (9, 9, 1)), (1, (5, 0, 9, 2)), (0, (9,)), (0, (10, 10, 10))]
    for row_s, (num_plain, fates) in itertools.product((0.01, 0.04, 0.1, 0.3), companies):
        load = Load()
        for rows in (1, 4, 30):
            load.target.add(rows, 1.0 + row_s * (rows - 1))
        for rows in (len(fates), 3 * len(fates)):
            load.draft.add(rows, 0.1 + 0.05 * rows)
        policies = [LoadGamma(load) for _ in fates]
        for policy, kept in zip(policies, fates, strict=True):
            for number in range(10):
                verdict = Verdict(int(number < kept), 0, "bonus")
                policy.observe(Step(number, 0, (0, 0)[: 1 + (number >= kept)], verdict, (0,), ("bonus",)))
        alphas = []
        for kept in fates:
            weights = np.exp(-np.arange(10)[::-1] / 32.0)
            accepted, tested = weights[:kept].sum(), weights.sum()
            mean = (accepted + 1.4) / (tested + 2.0)
            alphas.append((accepted + 4.0 * mean) / (tested + 4.0))
        wrong += any(abs(policy.acceptance - alpha) > 1e-12 for policy, alpha in zip(policies, alphas, strict=True))
        load.begin_step(policies, num_plain)
        rates = []
        for gamma in range(9):
            tokens = num_plain + sum(sum(alpha**k for k in range(gamma + 1)) for alpha in alphas)
            seconds = 1.0 + row_s * (num_plain + len(alphas) * (gamma + 1) - 1)
            if gamma:  # its rows, and at first those of drafts that were accepted whole
                late = sum(alpha**gamma for alpha in alphas)
                seconds += gamma * (0.1 + 0.05 * len(alphas)) + 0.05 * late
            rates.append(tokens / seconds)
        best = int(np.argmax(rates)) if max(rates) >= 1.1 * rates[0] else 0  # drafts begin for a tenth more
        price = rates[best] * row_s
        wanted = [sum(alpha**k > price for k in range(1, best + 1)) for alpha in alphas]
        wrong += [policy.gamma() for policy in policies] != wanted
    times = RowTimes()
    times.add(2, 1.0)
    found = [times.at(2), times.at(4)]
    for seconds in (2.0, 3.0, 3.0):  # of the first two the shorter
        times.add(4, seconds)
    found += [times.at(3), times.at(6), times.at(4)]
    return float(wrong + sum(abs(a - b) > 1e-12 for a, b in zip(found, [1.0, 1.15 / 1.05, 1.6, 3.4, 2.2], strict=True)))


@check("law", "the younger of two requests with one seed, whose drafts follow the load, by enumeration")
def law_of_equal_seeds() -> float:
    found, lengths = distance(by_load, "rejection")
    return found + (lengths != {0, 1})
