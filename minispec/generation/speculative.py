"""Stop 11 of 12 · the loop. Before: generation/stopping. Next: generation/api.

Invariant between steps: **the target's cache holds all committed tokens but the last**, so one token is always
pending. There is no special case for a fully accepted draft: the draft's next forward feeds whatever its cache lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from minispec.backends.base import Array
from minispec.control import GammaPolicy
from minispec.drafters import Drafter
from minispec.generation.details import token_details
from minispec.generation.events import Drafted, Emitted, Event, Verified
from minispec.generation.transcript import Transcript
from minispec.model.session import Session
from minispec.noise import Noise
from minispec.records import Draft
from minispec.sampling import Sampler
from minispec.verifiers import Verify


def speculative(
    transcript: Transcript,
    target: Session,
    drafter: Drafter,
    sampler: Sampler,
    noise: Noise,
    verify: Verify,
    policy: GammaPolicy,
    *,
    row: int = 0,
    logprobs: bool = False,
    clock: Callable[[], float],
) -> Iterator[Event]:
    """Draft, verify, commit, go back, until the transcript is finished.

    Parameters
    ----------
    transcript : Transcript
        Receives the steps.
    target : Session
        Exactly one forward per step, over the pending token and the draft.
    drafter : Drafter
    sampler : Sampler
    noise : Noise
    verify : Verify
    policy : GammaPolicy
        How many tokens to draft per step; fewer are drafted where room ends, so that no step overshoots.
    row : int
        Part of the noise's address.
    logprobs : bool
        Record a detail per token.
    clock : callable
        Seconds; only durations between events are measured, so a slow consumer does not count.
    """
    while transcript.finish is None:
        tokens, index, position = transcript.tokens, len(transcript.steps), len(transcript.tokens)
        for finished in transcript.unobserved():
            policy.observe(finished)
        started = clock()
        gamma = min(policy.gamma(), transcript.room - 1)
        draft = drafter.propose(tokens, gamma, noise, step=index, row=row, keep_drafting=policy.keep_drafting)
        draft_s = clock() - started
        drawn_with = tuple(float(draft.probs[i, token]) for i, token in enumerate(draft.tokens))
        yield Drafted(index, position, draft.tokens, drawn_with, draft_s, draft.parents)

        started = clock()
        logits = _score(target, tokens, draft)  # (G + 1, V)
        target_s = clock() - started
        target_probs = sampler.rows(logits, ((*tokens, *path) for path in draft.paths()))
        verdict = verify(draft, target_probs, noise, position=position, step=index, row=row)
        verify_s = clock() - started
        rejected = tuple(token for i, token in enumerate(draft.tokens) if i not in verdict.accepted)
        yield Verified(
            index, position, verdict.num_accepted, rejected, verdict.next_token, verdict.source, verdict.accept_probs,
            verify_s,
        )  # fmt: skip

        details = token_details(logits, target_probs, draft, verdict) if logprobs else ()
        step = transcript.commit(
            draft, verdict, draft_s=draft_s, target_s=target_s, step_s=draft_s + verify_s, details=details
        )
        if not draft.is_chain:
            target.keep(verdict.accepted)
        target.rollback(len(transcript.tokens) - 1)
        drafter.rollback(len(transcript.tokens) - 1)
        yield Emitted(index, position, step.tokens, step.sources, tuple(transcript.pieces[-1]), step.details)


def _score(target: Session, tokens: Sequence[int], draft: Draft) -> Array:
    """Feed what the target's cache lacks and the draft, in one forward; row 0 follows the committed text."""
    pending = tokens[target.length :]
    if draft.parents is None:
        return target.score([*pending, *draft.tokens], num_logits=len(draft) + 1)
    return target.score_tree(pending, draft.tokens, draft.parents)
