"""Stop 11 of 12 · the loop. Before: generation/stopping. Next: generation/api.

Invariant between steps: **the target's cache holds all committed tokens but the last**, so one token is always
pending. There is no special case for a fully accepted draft: the draft's next forward feeds whatever its cache lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from minispec.drafters import Drafter
from minispec.generation.events import Drafted, Emitted, Event, Verified
from minispec.generation.transcript import Transcript
from minispec.model.session import Session
from minispec.noise import Noise
from minispec.sampling import SamplingParams, distribution
from minispec.verifiers import Verify


def speculative(
    transcript: Transcript,
    target: Session,
    drafter: Drafter,
    params: SamplingParams,
    noise: Noise,
    verify: Verify,
    *,
    gamma: int,
    row: int = 0,
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
    params : SamplingParams
    noise : Noise
    verify : Verify
    gamma : int
        Tokens to draft per step; fewer where room ends, so that no step overshoots.
    row : int
        Part of the noise's address.
    clock : callable
        Seconds; only durations between events are measured, so a slow consumer does not count.
    """
    while transcript.finish is None:
        tokens, index, position = transcript.tokens, len(transcript.steps), len(transcript.tokens)
        started = clock()
        draft = drafter.propose(tokens, min(gamma, transcript.room - 1), noise, step=index, row=row)
        draft_s = clock() - started
        drawn_with = tuple(float(draft.probs[i, token]) for i, token in enumerate(draft.tokens))
        yield Drafted(index, position, draft.tokens, drawn_with, draft_s)

        started = clock()
        logits = target.score([*tokens[target.length :], *draft.tokens], num_logits=len(draft) + 1)  # (G + 1, V)
        target_s = clock() - started
        target_probs = distribution(logits, params)
        verdict = verify(draft, target_probs, noise, position=position, step=index, row=row)
        verify_s = clock() - started
        rejected = draft.tokens[verdict.num_accepted :]
        yield Verified(
            index, position, verdict.num_accepted, rejected, verdict.next_token, verdict.source, verdict.accept_probs,
            verify_s,
        )  # fmt: skip

        started = clock()
        step = transcript.commit(draft, verdict, draft_s=draft_s, target_s=target_s, step_s=draft_s + verify_s)
        target.rollback(len(transcript.tokens) - 1)
        drafter.rollback(len(transcript.tokens) - 1)
        yield Emitted(index, position, step.tokens, step.sources, tuple(transcript.pieces[-1]))
