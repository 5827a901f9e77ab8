"""Negative controls: every wrong decoder is told apart, by a total variation above 1e-3 or by an exception.

Without these the laws next door could be green for a test that sees nothing. The right law is met to 1e-12, so 1e-3
leaves nine orders of magnitude between right and wrong; the smallest distance measured here is 0.05.
"""

from __future__ import annotations

import functools

import pytest

from minispec.contracts import Enumerator, outcome, speculative_stream, target_law, total_variation
from minispec.drafters import ModelDrafter
from minispec.errors import InvariantError
from minispec.generation.stopping import Limits
from minispec.model.session import Session
from minispec.model.toy import TableModel
from minispec.verifiers import rejection

from . import wrong_decoders as wrong
from .tiny import PLAIN

PROMPT = (0, 1)
LIMITS = Limits(3, 64)
TARGET, DRAFT = TableModel(3, seed=1), TableModel(3, seed=2)
TOLD_APART = 1e-3
EXACT = 1e-12


def law(see=outcome, *, limits=LIMITS, draft=DRAFT, **parts):
    """Exact law of what ``see`` makes of a generation."""
    return Enumerator(
        lambda noise: see(speculative_stream(noise, TARGET, draft, PLAIN, PROMPT, limits, gamma=2, **parts).run())
    ).law()


@functools.cache
def right_law():
    return target_law(TARGET, PLAIN, PROMPT, LIMITS)


def test_positive_control_an_independent_right_rule_has_the_targets_law():
    """The scaffold of the mutants is itself exact, so what tells a mutant apart is its one wrong part."""
    assert total_variation(law(verify=wrong.make_verify()), right_law()) < EXACT


@pytest.mark.parametrize("name", wrong.WRONG_VERIFIERS)
def test_wrong_verifier_is_told_apart(name):
    assert total_variation(law(verify=wrong.WRONG_VERIFIERS[name]), right_law()) > TOLD_APART


@pytest.mark.parametrize("new_drafter", [wrong.UntruthfulDrafter, wrong.ArgmaxDrafter])
def test_a_drafter_that_did_not_draw_from_its_q_is_told_apart(new_drafter):
    assert total_variation(law(new_drafter=new_drafter), right_law()) > TOLD_APART


@pytest.mark.parametrize("new_session", [wrong.KeepsOneTooMany, wrong.ForgetsToRollBack])
def test_a_stale_row_in_the_targets_cache_is_told_apart(new_session):
    assert total_variation(law(new_session=new_session), right_law()) > TOLD_APART


def test_a_rollback_one_too_far_costs_work_not_the_law():
    """A correct variant must pass: the session feeds again what it lacks. Counting fed tokens tells it apart."""
    assert total_variation(law(new_session=wrong.KeepsOneTooFew), right_law()) < EXACT


@pytest.mark.parametrize("new_draft_session", [wrong.KeepsOneTooMany, wrong.ForgetsToRollBack])
def test_a_stale_row_in_the_drafts_cache_is_told_apart_by_the_sources(new_draft_session):
    """Rejection sampling is exact for *any* q that was really drawn from, so a stale draft cache leaves the text's law
    alone and only lowers acceptance. The joint law of tokens and sources sees it."""

    def tokens_and_sources(generation):
        return generation.token_ids, generation.sources

    assert total_variation(law(new_draft_session=new_draft_session), right_law()) < EXACT
    distance = total_variation(law(tokens_and_sources, new_draft_session=new_draft_session), law(tokens_and_sources))
    assert distance > TOLD_APART


def test_one_uniform_for_all_positions_raises():
    """An enumerator cannot weigh shared noise, so it refuses it."""
    shared = wrong.make_verify(accept_position=lambda position, i: position)
    with pytest.raises(InvariantError, match="read twice"):
        law(verify=shared)


def test_noise_reused_in_the_next_step_raises():
    """An address without the step: the position drafted again after a rejection would reuse its noise."""

    def forgets_the_step(draft, target_probs, noise, *, position, step, row=0):
        return rejection.verify(draft, target_probs, noise, position=0, step=0, row=row)

    with pytest.raises(InvariantError, match="read twice"):
        law(verify=forgets_the_step)


def test_a_residual_that_is_not_normalised_raises():
    with pytest.raises(InvariantError, match="no distribution"):
        law(verify=wrong.make_verify(residual=lambda p, q: (p - q).clip(0.0)))


def test_a_draft_window_that_shortens_the_text_is_told_apart():
    """The mistake: the context limit taken from the smaller of the two models."""
    small = TableModel(3, 4, seed=2)
    right = law(limits=Limits(3, TARGET.n_positions), draft=small)
    assert total_variation(right, right_law()) < EXACT
    clipped = law(limits=Limits(3, min(TARGET.n_positions, small.n_positions)), draft=small)
    assert total_variation(clipped, right_law()) > TOLD_APART


def test_a_draft_window_that_overflows_raises():
    """The mistake: drafting on although the window is full."""

    class Overflows(ModelDrafter):
        def propose(self, tokens, gamma, noise, *, step, row=0, **options):
            window = self.session.model.n_positions
            self.session.model.n_positions = 99
            try:
                return super().propose(tokens, gamma, noise, step=step, row=row)
            finally:
                self.session.model.n_positions = window

    with pytest.raises(InvariantError, match="capacity"):
        law(draft=TableModel(3, 2, seed=2), new_drafter=Overflows)


def test_first_token_law_alone_would_miss_some():
    """Why three tokens and context-dependent tables: these rules have the right law of the *first* token."""

    def first(generation):
        return generation.token_ids[0]

    wanted = law(first)
    for name in ("argmax bonus", "bonus from the wrong row", "bonus from the draft", "continue after rejection"):
        assert total_variation(law(first, limits=Limits(1, 64), verify=wrong.WRONG_VERIFIERS[name]), wanted) < EXACT


def test_sessions_used_here_differ_from_the_real_one_only_where_said():
    """The real session in the mutants' place gives the right law."""
    assert total_variation(law(new_session=Session, new_draft_session=Session), right_law()) < EXACT
