"""Rules on shared noise: the text is that of plain sampling, seed for seed, and acceptance has its closed form.

The noise of a coupled draft is continuous and read by both sides, so it is no tree to enumerate. Equality of texts is
bitwise: it cannot fail by chance. Acceptance is counted over many seeds and compared with its expectation; the bound
is Hoeffding's, and each comparison goes wrong by chance with probability at most 1e-9 (the seeds are fixed, so in fact
always or never).
"""

from __future__ import annotations

import functools
import math

import pytest

from minispec.engine.generation import api
from minispec.engine.verifiers import get_verifier

from .space import DRAFTS, LOADED, PLAIN, PROCESSORS, PROMPT, TREES, IrregularClock, models_by_name, target_of
from .test_acceptance import chain
from .theory import race_lost

SEEDS = range(6)
NUM_TOKENS = 10
GAMMAS = {
    "0": {"gamma": 0},
    "1": {"gamma": 1},
    "4": {"gamma": 4},
    "heuristic": {"gamma": "heuristic:gamma=2"},
    "confidence": {"gamma": "confidence:threshold=0.5"},
    "auto": {"gamma": "auto:largest=4"},
    "fallback": {"gamma": 3, "fallback": "request"},
}


@functools.cache
def target(draft):
    """Open-ended (no end-of-text token), so that every text is long."""
    return target_of({"draft": draft, "stop": "budget", "policy": "2"})


def generation(draft, seed, *, num_tokens=NUM_TOKENS, kind=None, **options):
    with models_by_name():
        stream = api.stream(
            PROMPT,
            target=target(kind or draft),
            draft=None if draft is None else DRAFTS[draft],
            seed=seed,
            max_tokens=num_tokens,
            clock=IrregularClock(),
            **{**PLAIN, **options},
        )
        return stream.run()


@functools.cache
def plain_text(kind, seed, processors):
    return generation(None, seed, kind=kind, **PROCESSORS[processors]).token_ids


@pytest.mark.parametrize("processors", ["plain", "top-p", "repetition"])
@pytest.mark.parametrize(
    ("verify", "draft"), [(v, d) for v in ("match", "gumbel") for d in DRAFTS if v == "match" or d not in TREES]
)
def test_the_text_is_that_of_plain_sampling(verify, draft, processors):
    policies = GAMMAS
    if draft in TREES:
        policies = {level: GAMMAS[level] for level in ("0", "1", "4")}
    for seed in SEEDS:
        for level, options in policies.items():
            text = generation(draft, seed, verify=verify, **options, **PROCESSORS[processors])
            assert text.token_ids == plain_text(draft, seed, processors), (seed, level)
            assert text.guarantee == "same-seed"


@pytest.mark.parametrize("verify", ["rejection", "block"])
def test_other_rules_do_not_follow_the_seed(verify):
    """The control: the property is the rule's."""
    assert any(
        generation("model", seed, verify=verify).token_ids != plain_text("model", seed, "plain") for seed in SEEDS
    )


def test_seeds_differ():
    assert len({plain_text("model", seed, "plain") for seed in SEEDS}) > 3


RUNS = 1500
FALSE_ALARM = 1e-9
BOUND = math.sqrt(math.log(2.0 / FALSE_ALARM) / (2.0 * RUNS))
"""Hoeffding: P(|mean of RUNS values in [0, 1] - expectation| > BOUND) <= FALSE_ALARM."""


@pytest.mark.parametrize("verify", ["match", "gumbel"])
def test_acceptance_has_its_closed_form(verify):
    """One draft, one judgement per seed: sum p q of independent draws, sum 1 / sum max(p/p, q/q) of coupled ones."""
    p, q = chain(target("model"))(()), chain(LOADED["table"])(())
    expected = {"match": float(p @ q), "gumbel": 1.0 - race_lost(p, q)}[verify]
    accepted = sum(
        generation("model", seed, verify=verify, gamma=1, num_tokens=3).steps[1].num_accepted for seed in range(RUNS)
    )
    assert abs(accepted / RUNS - expected) < BOUND
    other = {"gumbel": float(p @ q), "match": 1.0 - race_lost(p, q)}[verify]
    assert abs(accepted / RUNS - other) > BOUND, "the two forms are far enough apart for this test to tell"


@pytest.mark.parametrize("verify", ["match", "gumbel", "rejection", "block"])
def test_the_probabilities_on_record_predict_what_is_accepted(verify):
    """Summed over a long run: accepted drafts minus their recorded probabilities is a sum of terms of mean zero.

    Azuma: with terms in [-1, 1] the sum exceeds sqrt(2 n ln(2 / FALSE_ALARM)) with probability <= FALSE_ALARM.
    """
    drift, terms = 0.0, 0
    for seed in range(60):
        for step in generation("model", seed, verify=verify, gamma=1).steps:
            for i, prob in enumerate(step.verdict.accept_probs):
                drift += (i < step.verdict.num_accepted) - prob
                terms += 1
    assert terms > 200
    assert abs(drift) < math.sqrt(2.0 * terms * math.log(2.0 / FALSE_ALARM))


def test_every_coupled_rule_was_here():
    assert [name for name in ("rejection", "match", "gumbel", "block", "tree") if get_verifier(name).same_seed] == [
        "match",
        "gumbel",
    ]
