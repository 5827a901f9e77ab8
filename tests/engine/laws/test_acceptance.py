"""Acceptance measured = acceptance predicted, exactly: of tables, per rule, by enumerating the engine."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest

from minispec.engine.generation import api
from minispec.engine.generation.events import Verified
from minispec.engine.generation.options import Options
from minispec.engine.laws import Enumerator, total_variation
from minispec.engine.verifiers import expected_accepted, get_verifier
from minispec.engine.verifiers.tree import acceptance_probability as accepts_one_of
from minispec.theory import k_seq_acceptance, tau
from tests.engine.laws.oracle import slow_logits, slow_row

from .space import BEGUN, EXACT, FIRST, LOADED, PLAIN, PROMPT, models_by_name, table_target
from .theory import sources_law

RULES = ["rejection", "block", "tree", "traversal", "match", "lenient:lenience=0.5", "typical:epsilon=0.3,delta=0.6"]
PROCESSORS = {"plain": {}, "top-k": {"top_k": 2, "temperature": 0.7}, "penalties": {"presence_penalty": 0.9}}


def chain(model, **options):
    """The model's law of the next token after the first and others, by the slow oracle."""
    sampling = Options(**PLAIN | options)

    @functools.cache
    def law(generated):
        return np.array(slow_row(slow_logits(model, (*BEGUN, *generated)), sampling, (FIRST, *generated), PROMPT))

    return law


def engine_law(see, *, verify, gamma, num_tokens, draft="table", **options):
    target = table_target(eos=False)
    options = {**PLAIN, "verify": verify, "gamma": gamma, "max_tokens": 1 + num_tokens, "draft": draft, **options}
    with models_by_name():
        return Enumerator(lambda noise: see(api.stream(PROMPT, target=target, noise=noise, **options))).law()


def first_accepted(stream):
    """Of the first draft, and no further: what follows it would be enumerated too."""
    return next(event.num_accepted for event in stream if isinstance(event, Verified) and event.step == 1)


def mean(law):
    return math.fsum(value * prob for value, prob in law.items())


def large(verify):
    """The mark of a large case; matching draws at every position whatever came before, so its trees are the largest."""
    return pytest.mark.exhaustive if verify == "match" else pytest.mark.slow


@pytest.mark.parametrize("processors", PROCESSORS)
@pytest.mark.parametrize(
    ("verify", "gamma"),
    [
        *itertools.product(RULES, [0, 1, 2]),
        *(pytest.param(verify, 3, marks=pytest.mark.exhaustive) for verify in RULES),
    ],
)
def test_accepted_drafts_of_a_step(verify, gamma, processors):
    """E[tau] as the engine runs equals ``expected_accepted`` of the rule's survival, lossy rules included."""
    options = PROCESSORS[processors]
    law = engine_law(first_accepted, verify=verify, gamma=gamma, num_tokens=gamma + 1, **options)
    target, draft = chain(table_target(eos=False), **options), chain(LOADED["table"], **options)
    assert mean(law) == pytest.approx(expected_accepted(get_verifier(verify).survival, target, draft, gamma), abs=EXACT)


def tokens_and_sources(stream):
    generation = stream.run()
    return tuple(zip(generation.token_ids[1:], generation.sources[1:], strict=True))


@pytest.mark.parametrize("processors", PROCESSORS)
@pytest.mark.parametrize(
    ("verify", "gamma", "num_tokens"),
    [
        pytest.param(verify, gamma, num_tokens, marks=large(verify) if num_tokens == 4 else ())
        for verify in ("rejection", "block", "tree", "match")
        for gamma, num_tokens in ((0, 2), (1, 2), (2, 3), (1, 4), (2, 4))
    ],
)
def test_tokens_and_sources_over_several_steps(verify, gamma, num_tokens, processors):
    """The joint law of the text and of where each token comes from, against the rule's theorem."""
    options = PROCESSORS[processors]
    law = engine_law(tokens_and_sources, verify=verify, gamma=gamma, num_tokens=num_tokens, **options)
    target, draft = chain(table_target(eos=False), **options), chain(LOADED["table"], **options)
    assert total_variation(law, sources_law(verify, target, draft, gamma, num_tokens)) < EXACT


@pytest.mark.parametrize("alpha", [0.6, 0.9])
@pytest.mark.parametrize("gamma", [1, 2, 3])
def test_a_synthetic_draft_reaches_leviathans_tau(alpha, gamma):
    """Independent acceptances of one probability, the assumption of the formula, are true of it."""
    law = engine_law(
        first_accepted, verify="rejection", gamma=gamma, num_tokens=gamma + 1, draft=f"synthetic:alpha={alpha}"
    )
    assert 1.0 + mean(law) == pytest.approx(tau(alpha, gamma), abs=EXACT)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_siblings_with_replacement(width):
    law = engine_law(
        first_accepted, verify="tree", gamma=1, num_tokens=2, draft=f"tree:draft=table,shape={width},siblings=with"
    )
    p, q = chain(table_target(eos=False))(()), chain(LOADED["table"])(())
    assert mean(law) == pytest.approx(accepts_one_of(p, [q] * width), abs=EXACT)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_k_seq(width):
    law = engine_law(
        first_accepted, verify="kseq", gamma=1, num_tokens=2, draft=f"tree:draft=table,shape={width},siblings=with"
    )
    p, q = chain(table_target(eos=False))(()), chain(LOADED["table"])(())
    assert mean(law) == pytest.approx(k_seq_acceptance(p, q, width), abs=EXACT)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_siblings_without_replacement(width):
    """Averaged over the orders in which the siblings are drawn; with as many as there are tokens, one always stays."""
    law = engine_law(
        first_accepted, verify="tree", gamma=1, num_tokens=2, draft=f"tree:draft=table,shape={width},siblings=without"
    )
    p, q = chain(table_target(eos=False))(()), chain(LOADED["table"])(())

    def rejected(wanted, left, depth):
        if depth == width:
            return 1.0
        following = np.maximum(wanted - left, 0.0)
        total = 0.0
        for token in np.flatnonzero(left):
            lost = float(left[token]) - min(float(left[token]), float(wanted[token]))
            if lost > 0.0:
                rest = left.copy()
                rest[token] = 0.0
                total += lost * rejected(following / following.sum(), rest / rest.sum(), depth + 1)
        return total

    assert mean(law) == pytest.approx(1.0 - rejected(p, q, 0), abs=EXACT)
    if width == 3:
        assert mean(law) == pytest.approx(1.0, abs=EXACT)


@pytest.mark.parametrize("width", [1, 2])
def test_the_likeliest_siblings(width):
    """A set S of certain candidates is accepted with probability p(S), by the tree rule and by matching alike."""
    p, q = chain(table_target(eos=False))(()), chain(LOADED["table"])(())
    best = np.argsort(-q)[:width]
    for verify in ("tree", "match"):
        law = engine_law(
            first_accepted,
            verify=verify,
            gamma=1,
            num_tokens=2,
            draft=f"tree:draft=table,shape={width},siblings=likeliest",
        )
        assert mean(law) == pytest.approx(float(p[best].sum()), abs=EXACT)
