"""Plain decoding, the baseline: one target forward per token. It shares everything with speculation but the loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from minispec.generation.details import token_details
from minispec.generation.events import Emitted, Event
from minispec.generation.transcript import Transcript
from minispec.model.session import Session
from minispec.noise import Address, Noise
from minispec.records import Draft, Verdict
from minispec.sampling import Sampler

_NO_DRAFT = Draft((), np.empty((0, 0)))


def autoregressive(
    transcript: Transcript,
    target: Session,
    sampler: Sampler,
    noise: Noise,
    *,
    row: int = 0,
    logprobs: bool = False,
    clock: Callable[[], float],
) -> Iterator[Event]:
    """Decode until the transcript is finished. Each token's noise is addressed by its position alone."""
    while transcript.finish is None:
        started = clock()
        position = len(transcript.tokens)
        logits = target.score(transcript.tokens[target.length :], num_logits=1)
        scored = clock()
        probs = sampler(logits, transcript.tokens)
        token = noise.categorical(probs[0], at=Address("sample", position, row=row))
        step_s = clock() - started
        verdict = Verdict(0, token, "plain")
        details = token_details(logits, probs, _NO_DRAFT, verdict) if logprobs else ()
        step = transcript.commit(
            _NO_DRAFT, verdict, draft_s=0.0, target_s=scored - started, step_s=step_s, details=details
        )
        target.rollback(len(transcript.tokens) - 1)
        yield Emitted(step.index, position, step.tokens, step.sources, tuple(transcript.pieces[-1]), step.details)
