"""Template tests: hold a drafter or a rule of yours to the engine's law, on models small enough to enumerate.

The unchanged engine is replayed over every branch of its randomness (:class:`minispec.engine.laws.Enumerator`), and the
distribution of its texts compared with what plain decoding would write, read off the target's table. Three tokens
behind the first are enough for a mistake about positions, rows or memory to show.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from minispec.engine.control import FixedGamma
from minispec.engine.drafters import (
    Drafter,
    DynamicTreeDrafter,
    FixedTreeDrafter,
    ModelDrafter,
    ModelSource,
    NgramDrafter,
)
from minispec.engine.drafters.base import allow_all
from minispec.engine.drafters.trees import Siblings
from minispec.engine.drafters.trees.shapes import fixed_tree
from minispec.engine.generation import Stream
from minispec.engine.generation.stopping import Limits
from minispec.engine.laws.enumerator import Enumerator
from minispec.engine.laws.outcomes import Outcome, outcome, target_law, total_variation
from minispec.engine.model.asks import answer
from minispec.engine.model.session import Session
from minispec.engine.model.toy import TableModel
from minispec.engine.model.tree_session import TreeSession
from minispec.engine.noise import Coins, Noise
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.records import Draft
from minispec.engine.sampling import Sampler, SamplingParams
from minispec.engine.verifiers import Verifier, Verify, get_verifier
from minispec.errors import InvariantError

NewDrafter = Callable[[TreeSession, Sampler], Drafter]
"""Builds the drafter of one run from the target's session and the run's sampler."""

TOLERANCE = 1e-12
"""Of a total variation: sums of a few thousand products in double precision err by less."""

_PROMPT, _FIRST = (0, 1), 0  # the first token, which no draft reaches, is certain: all else lies behind a draft
_TEXT = (*_PROMPT, _FIRST)
_PARAMS = (
    SamplingParams(temperature=1.0, top_p=1.0),
    SamplingParams(temperature=0.7, top_p=1.0, top_k=2),
    SamplingParams(temperature=0.0),
)
_TARGET = TableModel(3, eos_token_id=frozenset({2}), table={_PROMPT: np.eye(3)[_FIRST]})
_DRAFT = TableModel(3, seed=1)
_GROWING = TableModel(  # of the first two levels; what comes later is certain, so that few branches are to be walked
    3,
    table={(*_TEXT, *path): np.eye(3)[0] for n in (2, 3) for path in itertools.product(range(3), repeat=n)}
    | {
        _TEXT: [0.5, 0.4, 0.1],
        (*_TEXT, 0): [0.4, 0.3, 0.3],
        (*_TEXT, 1): [0.9, 0.1, 0.0],
        (*_TEXT, 2): [0.0, 0.0, 1.0],
    },
)
_LIMITS = Limits(max_tokens=4, n_positions=_TARGET.n_positions, eos_token_id=_TARGET.eos_token_id)


def measure_distance(new_drafter: NewDrafter, verify: Verify, params: SamplingParams, gamma: int) -> float:
    """Return the total variation between what the engine writes with these parts and what the target alone would."""

    def run(noise: Noise) -> Outcome:
        return outcome(_start(new_drafter, verify, params, gamma, noise).run())

    return total_variation(Enumerator(run).law(), target_law(_TARGET, params, _PROMPT, _LIMITS))


def check_drafter(new_drafter: NewDrafter) -> None:
    """Check that a drafter leaves the text's distribution alone, keeps to its length, and forgets what it is told to.

    Parameters
    ----------
    new_drafter : callable
        ``new_drafter(target, sampler)`` returns a new drafter; ``target.model.vocab_size`` is 3.

    Raises
    ------
    InvariantError
        Naming what the drafter broke, and with which settings.

    Examples
    --------
    >>> check_drafter(lambda target, sampler: NgramDrafter(target.model.vocab_size))
    """
    for params in _PARAMS:
        _check_lengths(new_drafter, params)
        _check_memory(new_drafter, params)
        for name, gamma in itertools.product(("rejection", "block"), (1, 2)):
            distance = measure_distance(new_drafter, get_verifier(name).verify, params, gamma)
            _require_exact(distance, f"a draft is not drawn from its rows: under rule {name},", params, gamma)


def check_rule(verify: Verify | Verifier) -> None:
    """Check that a rule emits the target's distribution, whatever it is handed; and the promises of a ``Verifier``.

    Drafts come from a model unlike the target, from the target itself, from a model that is sure of a token, and from a
    lookup; also as trees, if the rule says that it takes those, and not of independent siblings alone if it does not
    count them. A rule that promises ``same_seed`` must emit plain sampling's tokens besides, on drafts with the
    target's noise if it is ``coupled``.

    Parameters
    ----------
    verify : Verify or Verifier

    Raises
    ------
    InvariantError
        Naming the draft and the settings with which it fails.

    Examples
    --------
    >>> check_rule(get_verifier("block"))
    """
    verifier = verify if isinstance(verify, Verifier) else Verifier("rule under test", verify)
    for params in _PARAMS:
        for (name, new_drafter), gamma in itertools.product(_drafters(verifier), (0, 1, 2)):
            distance = measure_distance(new_drafter, verifier.verify, params, gamma)
            _require_exact(distance, f"the rule is not lossless: on drafts of {name},", params, gamma)
        if verifier.same_seed:
            _check_seeds(partial(_draft_with, _DRAFT, coupled=verifier.coupled), verifier.verify, params)


def _drafters(verifier: Verifier) -> Iterator[tuple[str, NewDrafter]]:
    """Yield what a rule must bear, with a name for messages."""
    sure = TableModel(3, table={_TEXT: [0.0, 1.0, 0.0]}, seed=2)
    for name, model in (("another model", _DRAFT), ("the target itself", _TARGET), ("a sure model", sure)):
        yield name, partial(_draft_with, model)
    yield "a lookup", lambda target, sampler: NgramDrafter(target.model.vocab_size)
    if verifier.trees:
        yield "a tree with replacement", partial(_draft_tree, "with replacement")
    if verifier.trees and not verifier.counts_siblings:
        yield "a tree that grows", _draft_growing_tree
        yield "a tree without replacement", partial(_draft_tree, "without replacement")


def _draft_with(model: TableModel, target: TreeSession, sampler: Sampler, *, coupled: bool = False) -> Drafter:
    return ModelDrafter(Session(model), sampler, coupled=coupled)


def _draft_tree(siblings: Siblings, target: TreeSession, sampler: Sampler) -> Drafter:
    return FixedTreeDrafter(ModelSource(_DRAFT), sampler, fixed_tree((2,)), siblings, num_slots=target.cache.capacity)


def _draft_growing_tree(target: TreeSession, sampler: Sampler) -> Drafter:
    """Draft two candidates: siblings, or a likely child of the elder instead of the younger one."""
    return DynamicTreeDrafter(ModelSource(_GROWING), sampler, 2, "with replacement", num_slots=target.cache.capacity)


def _start(new_drafter: NewDrafter | None, verify: Verify, params: SamplingParams, gamma: int, noise: Noise) -> Stream:
    session, sampler = TreeSession(_TARGET), Sampler(params, len(_PROMPT), _TARGET.eos_token_id)
    drafter = None if new_drafter is None else new_drafter(session, sampler)
    rule, policy = Verifier("rule under test", verify), FixedGamma(gamma)
    return Stream(_PROMPT, session, drafter, sampler, noise, _LIMITS, policy=policy, verifier=rule)


def _check_lengths(new_drafter: NewDrafter, params: SamplingParams) -> None:
    """Ask for so many tokens, and for none."""
    for gamma in (0, 1, 3):
        draft = _propose(_make(new_drafter, params), _TEXT, gamma)
        if len(draft) > gamma and draft.is_chain:
            raise InvariantError(f"the drafter was asked for {gamma} tokens and proposed {len(draft)}")
        if draft.probs.shape[0] != len(draft) or (len(draft) and draft.probs.shape[1] != _TARGET.vocab_size):
            raise InvariantError(
                f"a draft of {len(draft)} tokens has probs of shape {draft.probs.shape}; it must have a row for each, "
                f"({len(draft)}, {_TARGET.vocab_size})"
            )


def _check_memory(new_drafter: NewDrafter, params: SamplingParams) -> None:
    """Compare a drafter that went back with one that was never there: a step may be interrupted and done again."""
    text = (*_TEXT, 1)
    drafter = _make(new_drafter, params)
    _propose(drafter, (*text, 2, 0), 2)
    drafter.rollback(len(text) - 1)
    again, fresh = _propose(drafter, text, 2), _propose(_make(new_drafter, params), text, 2)
    if again.tokens != fresh.tokens or not np.array_equal(again.probs, fresh.probs):
        raise InvariantError(
            f"after a rollback the drafter proposed {again.tokens}, and a new one {fresh.tokens}; rollback(length) "
            "must forget whatever lies beyond the first length tokens"
        )


def _check_seeds(new_drafter: NewDrafter, verify: Verify, params: SamplingParams) -> None:
    for seed in range(50):
        plain = _start(None, verify, params, 0, PhiloxNoise(seed)).run().token_ids
        found = _start(new_drafter, verify, params, 2, PhiloxNoise(seed)).run().token_ids
        if found != plain:
            raise InvariantError(
                f"the rule promises plain sampling's tokens; with seed {seed} those are {plain}, and it emits {found}"
            )


def _make(new_drafter: NewDrafter, params: SamplingParams) -> Drafter:
    session = TreeSession(_TARGET)
    session.prefill(_TEXT[:-1])
    drafter = new_drafter(session, Sampler(params, len(_PROMPT), _TARGET.eos_token_id))
    answer(drafter.prefill(_TEXT[:-1]))
    return drafter


def _propose(drafter: Drafter, tokens: tuple[int, ...], gamma: int) -> Draft:
    return answer(drafter.propose(tokens, gamma, Coins(PhiloxNoise(0), position=len(tokens)), allow_all))


def _require_exact(distance: float, what: str, params: SamplingParams, gamma: int) -> None:
    if not distance < TOLERANCE:
        raise InvariantError(
            f"{what} with gamma {gamma}, temperature {params.temperature:g} and top_k {params.top_k}, the text is "
            f"distributed otherwise than the target's: total variation {distance:.3g}"
        )
