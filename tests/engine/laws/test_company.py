"""Requests that share a seed: what one has drawn may decide how the other drafts, and each keeps the target's law.

Two requests of an engine with one seed and one prompt, the younger a step behind, by enumeration: noise that both read
at one address is drawn once. See ``minispec/engine/control/gamma.py`` for what a decision may depend on.
"""

from __future__ import annotations

import itertools
from unittest import mock

import pytest

from minispec.engine.batching import Engine
from minispec.engine.control import FixedGamma
from minispec.engine.control.load import Load, LoadGamma, RowTimes
from minispec.engine.generation import api as opening
from minispec.engine.generation.options import Options
from minispec.engine.laws import Enumerator, total_variation
from minispec.engine.model.toy import TableModel
from tests.engine.laws.oracle import slow_logits, slow_row

from .space import EXACT, PLAIN

TOLD_APART = 1e-3
SURE = {(0, *text): [1.0, 0.0] for n in range(6) for text in itertools.product((0, 1), repeat=n)}
"""Only the token behind (0, 0) is open: whatever the two have drawn, they ask the same at an address."""
P, Q = [0.2, 0.8], [0.7, 0.3]
TARGET, DRAFT = (TableModel(2, 64, table=SURE | {(0, 0): row}) for row in (P, Q))


class Shared:
    """The noise of all requests of a run: one answer for an address of a seed and a row."""

    def __init__(self, noise):
        self._noise, self._known = noise, {}

    def of_request(self, seed, row=0):
        return mock.Mock(
            bernoulli=lambda prob, at: self._ask(self._noise.bernoulli, prob, prob, (seed, row), at),
            categorical=lambda probs, at: self._ask(self._noise.categorical, probs, tuple(probs), (seed, row), at),
        )

    def _ask(self, answer, given, question, whose, at):
        if (whose, at) not in self._known:
            apart = at._replace(position=at.position + 1000 * hash(whose))
            self._known[whose, at] = question, answer(given, apart)
        asked, answered = self._known[whose, at]
        assert asked == question, "else one answer would not do for both"
        return answered


class Follows(FixedGamma):
    """Drafts if the draft of an older request was accepted: as if time had told."""

    timed = True
    name = "follows"

    def __init__(self, engine):
        super().__init__(1)
        self._engine = engine

    def gamma(self):
        steps = self._engine.generation(0).steps
        return int(len(steps) > 1 and steps[1].num_accepted == 1)


class Untimed(Follows):
    """The same, without saying that it depends on others."""

    timed = False


def by_load(engine):
    """Policies by load on a machine where a draft is nearly free, and pays where it is accepted as often as not."""
    load = engine._batch.load
    for rows in range(1, 12):
        load.target.add(rows, 1.0 + 0.325 * (rows - 2))
        load.draft.add(rows, 1e-6)
    return "load", "load"


def by_budget(engine):
    """Policies of one budget, where a second row pays for two untried drafts, and not behind one that was accepted."""
    load = engine._batch.load
    for rows in range(1, 12):
        load.target.add(rows, (1.0, 1.0, 1.0, 1.2525, 10.0)[min(rows, 5) - 1])
        load.draft.add(rows, 1e-6)
    return "budget", "budget"


def by_followers(policy):
    return lambda engine: (1, policy(engine))


def run_two(noise, policies, verify, seeds=(3, 3)):
    engine, found = Engine(TARGET, clock=lambda: 0.0), []
    with mock.patch.object(opening, "PhiloxNoise", Shared(noise).of_request):
        for seed, gamma in zip(seeds, policies(engine), strict=True):
            with mock.patch.object(RowTimes, "add"):
                found.append(engine.add([0], draft=DRAFT, seed=seed, gamma=gamma, verify=verify, max_tokens=5, **PLAIN))
                engine.step()
        with mock.patch.object(RowTimes, "add"):
            engine.run()
    return [engine.generation(number) for number in found]


def law(see, *args, **options):
    return Enumerator(lambda noise: see(*run_two(noise, *args, **options))).law()


def distance(*args, **options):
    """Total variation of the younger's open token from the target's row, and the lengths of its first draft."""
    both = law(lambda older, younger: (younger.token_ids[1], len(younger.steps[1].draft_tokens)), *args, **options)
    tokens = {token: sum(prob for (each, _), prob in both.items() if each == token) for token in (0, 1)}
    wanted = slow_row(slow_logits(TARGET, (0, 0)), Options(**PLAIN), (0,), (0,))
    return total_variation(tokens, dict(enumerate(wanted))), {length for _, length in both}


POLICIES = {"load": by_load, "budget": by_budget, "one that follows": by_followers(Follows)}


@pytest.mark.parametrize("verify", ["rejection", "block"])
@pytest.mark.parametrize("policies", POLICIES.values(), ids=POLICIES)
def test_the_law_is_the_targets_where_one_acts_on_what_the_other_drew(policies, verify):
    found, lengths = distance(policies, verify)
    assert found < EXACT
    assert lengths == {0, 1}, "the older one's coins do decide whether the younger one drafts"


@pytest.mark.parametrize("policies", POLICIES.values(), ids=POLICIES)
def test_with_the_noise_of_the_seed_alone_the_law_bends(policies):
    """The control: what both read at one address is the same."""
    of_request = Shared.of_request
    with mock.patch.object(Shared, "of_request", lambda self, seed, row: of_request(self, seed)):
        assert distance(policies, "rejection")[0] > TOLD_APART


def test_a_policy_that_hides_what_it_depends_on_bends_the_law():
    assert distance(by_followers(Untimed), "rejection")[0] > TOLD_APART
    assert distance(by_followers(Untimed), "rejection", seeds=(3, 4))[0] < EXACT


def test_a_text_that_is_the_seeds_stays_that():
    same = law(lambda older, younger: older.token_ids == younger.token_ids, by_followers(Follows), "match")
    assert same == {True: pytest.approx(1.0)}


def test_a_length_stands_until_its_step_is_finished():
    """A step that was interrupted is done again, and the batch may have changed meanwhile."""
    load = Load()
    policy = LoadGamma(load)
    with mock.patch.object(load, "plan", return_value=(3, 0.1)) as plan:
        assert policy.gamma() == 3
        plan.return_value = 2, 0.1
        assert policy.gamma() == 2, "nothing was drafted yet"
        policy.more(P)
        plan.return_value = 0, 0.1
        assert policy.gamma() == 2
        policy.observe(mock.Mock(draft_tokens=(), verdict=mock.Mock(num_accepted=0)))
        assert policy.gamma() == 0
