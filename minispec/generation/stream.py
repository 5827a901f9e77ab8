"""Beside stop 14: who drives the loop. A run is an iterator of events, to be left at any moment and taken up again."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from minispec.backends.base import Array
from minispec.control import FixedGamma, GammaPolicy
from minispec.drafters import Drafter, NoDrafter
from minispec.generation.audit import audit_step
from minispec.generation.events import Drafted, Emitted, Event, Finished, Prefilled, Verified
from minispec.generation.guarantee import guarantee, reproducible
from minispec.generation.loop import decode
from minispec.generation.metrics import Metrics
from minispec.generation.ready import make_ready
from minispec.generation.result import Generation
from minispec.generation.stopping import Limits, Stopper
from minispec.generation.stopwatch import Stopwatch
from minispec.generation.transcript import Transcript
from minispec.model.session import Ask, ask_for
from minispec.model.tree_session import TreeSession
from minispec.noise import Noise
from minispec.records import Draft, Step
from minispec.sampling import Sampler
from minispec.tokenizer import Tokenizer
from minispec.verifiers import Verifier, get_verifier

REJECTION = get_verifier("rejection")
_NO_LOGITS = np.empty((0, 0), np.float32)


class Stream:
    """Iterate over it for events; leave the loop whenever you like, and iterate again to go on.

    Leaving (``break``, an exception, Ctrl-C, a notebook's stop button) loses nothing: what was committed stays, the
    caches are set back to it, and events that were due but not delivered come first when iteration resumes. A step
    that was interrupted is done again with the same noise, so the text is the same as without the interruption.

    Parameters
    ----------
    prompt_tokens : sequence of int
        At least one.
    target : TreeSession
    drafter : Drafter or None
        None decodes plainly; rule and policy then have nothing to do.
    sampler : Sampler
    noise : Noise
    limits : Limits
    policy : GammaPolicy
        How many tokens to draft.
    tokenizer : Tokenizer or None
        For the text and the stop strings.
    verifier : Verifier
        The rule that judges drafts.
    logprobs : bool
        Record log probabilities, p, q and acceptance per token.
    audit : bool
        Check lengths and counters after every step; the forwards are checked by handing in an ``AuditedSession``.
    prompt : str
    options : mapping
        Recorded in the result.
    clock : callable
        Seconds.
    """

    def __init__(
        self,
        prompt_tokens: Sequence[int],
        target: TreeSession,
        drafter: Drafter | None,
        sampler: Sampler,
        noise: Noise,
        limits: Limits,
        *,
        policy: GammaPolicy | None = None,
        tokenizer: Tokenizer | None = None,
        verifier: Verifier = REJECTION,
        logprobs: bool = False,
        audit: bool = False,
        prompt: str = "",
        options: Mapping[str, Any] | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.target = target
        self.speculates = drafter is not None
        self.drafter = NoDrafter() if drafter is None else drafter
        self._tokenizer = tokenizer
        self._prompt = prompt
        self._prompt_tokens = tuple(prompt_tokens)
        self._sampler = sampler
        self._noise = noise
        self._policy = policy if policy is not None and self.speculates else FixedGamma(5 if self.speculates else 0)
        self._verifier = verifier if self.speculates else REJECTION
        self._audit = audit
        self._clock = clock
        self._watch = Stopwatch(clock)
        self._options = dict(options or {})
        self._transcript = Transcript(
            prompt_tokens, lambda: Stopper(limits, tokenizer, len(prompt_tokens)), self._watch, logprobs=logprobs
        )
        self._prefill_s: float | None = None
        self._other_forwards = 0
        self._handed_out: Event | None = None  # the last event
        self._num_verified = self._num_delivered = 0  # steps whose Verified, Emitted event reached the consumer
        self._finished_delivered = False
        self._work: Generator[Ask | Event, Array | None, None] | None = None

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        try:
            happened = self.advance()
            while isinstance(happened, Ask):
                happened = self.advance(happened.answer())
            return happened
        except StopIteration:  # the end of the run, which nothing has interrupted
            raise
        except BaseException:
            self.close(delivered=False)  # a generator that has raised is dead; the next call starts a new one
            raise

    def advance(self, logits: Array | None = None) -> Ask | Event:
        """Go on to the next event, or to the next logits that the run needs.

        Whoever calls this instead of iterating answers the asks: with a forward for each, or with one for many runs.

        Parameters
        ----------
        logits : ndarray, optional
            The answer to the ask that came last; without one, the run goes on from an event, or begins.
        """
        self._note_delivery()
        if self._finished_delivered:
            raise StopIteration
        if self._work is None:
            self._work = self._run()
        happened = next(self._work) if logits is None else self._work.send(logits)
        if isinstance(happened, Finished):
            self._work = None  # suspended, it would hold this object in a cycle, and with it both caches
        self._handed_out = None if isinstance(happened, Ask) else happened
        return happened

    def _note_delivery(self) -> None:
        """Count the last event as delivered: the consumer has come back for the next."""
        if isinstance(self._handed_out, Verified):
            self._num_verified = self._handed_out.step + 1
        if isinstance(self._handed_out, Emitted):
            self._num_delivered = self._handed_out.step + 1
        if isinstance(self._handed_out, Finished):
            self._finished_delivered = True

    def close(self, *, delivered: bool = True) -> None:
        """Leave the run and set the caches back to the committed tokens; iterating again goes on from there.

        Parameters
        ----------
        delivered : bool
            Whether the last event reached its reader; if it did not, it comes again.
        """
        if not delivered:
            self._handed_out = None
        self._work = None
        self._set_back()

    @property
    def last_event(self) -> Event | None:
        """The event that was handed out last, until the next call asks for another."""
        return self._handed_out

    @property
    def tokens(self) -> tuple[int, ...]:
        """Prompt and committed tokens so far."""
        return tuple(self._transcript.tokens)

    @property
    def generation(self) -> Generation:
        """What has been generated so far; ``finish_reason`` is "interrupted" until the end."""
        transcript = self._transcript
        finish = transcript.finish
        promise = guarantee(
            self._verifier if self.speculates else None,
            temperature=self._sampler.params.temperature,
            batch_invariant=self.target.model.batch_invariant,
        )
        return Generation(
            prompt=self._prompt,
            text=transcript.text,
            token_ids=tuple(transcript.tokens[len(self._prompt_tokens) :]),
            sources=tuple(source for step in transcript.steps for source in step.sources),
            finish_reason="interrupted" if finish is None else finish.reason,
            stop=None if finish is None else finish.stop,
            guarantee=promise,
            reproducible=reproducible(promise, timed=self._policy.timed),
            metrics=Metrics.from_steps(transcript.steps, len(self._prompt_tokens), self._prefill_s or 0.0),
            options=self._options,
            steps=tuple(transcript.steps),
            pieces=tuple(piece for pieces in transcript.pieces for piece in pieces),
        )

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of some tokens; their ids where there is no tokenizer."""
        return " ".join(map(str, tokens)) if self._tokenizer is None else self._tokenizer.decode(tokens)

    def run(self) -> Generation:
        """Run to the end and return the result."""
        for _ in self:
            pass
        return self.generation

    def _run(self) -> Generator[Ask | Event, Array | None, None]:
        self._set_back()
        transcript = self._transcript
        yield from self._prefill()
        for step in transcript.steps[self._num_delivered :]:
            yield from self._report_committed(step)
        self._other_forwards = self.target.num_forwards - len(transcript.steps)  # the prefill's and interrupted steps'
        loop = decode(
            transcript,
            self.target,
            self.drafter,
            sampler=self._sampler,
            noise=self._noise,
            verify=self._verifier.verify,
            policy=self._policy,
        )
        self._watch.start()
        asked = next(loop, None)
        while asked is not None:
            logits = None
            if isinstance(asked, Ask):
                logits = yield asked
                self._watch.note_forward()
            else:
                yield from self._tell(asked)
            try:
                asked = loop.send(_NO_LOGITS if logits is None else logits)
            except StopIteration:
                break
        yield Finished(self.generation)

    def _tell(self, done: Draft | Step) -> Iterator[Event]:
        """Yield the events of what the loop has done, while the clock stands still."""
        if isinstance(done, Draft):
            self._watch.note_draft()
            if self.speculates:
                yield self._report_draft(done)
            self._watch.resume()
            return
        self._observe()
        if self._audit:
            audit_step(self._transcript, self.target, self._other_forwards)
        yield from self._report_committed(done)
        self._watch.start()

    def _report_committed(self, step: Step) -> Iterator[Event]:
        """Say of a committed step what has not been said yet."""
        if self.speculates and step.index == self._num_verified:
            yield _report_verdict(step)
        yield self._report_emitted(step)

    def _report_draft(self, draft: Draft) -> Drafted:
        index, position = len(self._transcript.steps), len(self._transcript.tokens)
        probs = tuple(float(draft.probs[i, token]) for i, token in enumerate(draft.tokens))
        return Drafted(
            step=index,
            position=position,
            tokens=draft.tokens,
            probs=probs,
            elapsed_s=self._watch.draft_s,
            parents=draft.parents,
        )

    def _report_emitted(self, step: Step) -> Emitted:
        pieces = tuple(self._transcript.pieces[step.index])
        return Emitted(
            step=step.index,
            position=step.position,
            token_ids=step.tokens,
            sources=step.sources,
            pieces=pieces,
            details=step.details,
        )

    def _observe(self) -> None:
        """Let the policy learn from each committed step once, also after an interruption."""
        for step in self._transcript.take_unobserved():
            self._policy.observe(step)

    def _prefill(self) -> Generator[Ask | Event, Array | None, None]:
        """Feed all committed tokens but the last, as far as caches lack them; what must be compiled is compiled before.

        Only the first time is it an event: a run that was left has its tokens in the caches, unless these were cleared.
        """
        draft_session = getattr(self.drafter, "session", None)
        make_ready([self.target.model, None if draft_session is None else draft_session.model])
        started, known = self._clock(), self.tokens[:-1]
        yield from self.target.ask_prefill(known)
        yield from ask_for(self.drafter.prefill(known))
        if self._prefill_s is None:
            self._prefill_s = self._clock() - started
            yield Prefilled(len(self._prompt_tokens), self._prefill_s)

    def _set_back(self) -> None:
        """Make transcript, policy and caches agree on the committed steps, whatever an interruption left behind."""
        self._transcript.rebuild()
        self._observe()
        length = len(self._transcript.tokens) - 1
        self.target.rollback(length)
        self.drafter.rollback(length)


def _report_verdict(step: Step) -> Verified:
    verdict = step.verdict
    rejected = tuple(token for i, token in enumerate(step.draft_tokens) if i not in verdict.accepted)
    return Verified(
        step=step.index,
        position=step.position,
        num_accepted=verdict.num_accepted,
        rejected=rejected,
        next_token=verdict.next_token,
        source=verdict.source,
        accept_probs=verdict.accept_probs,
        elapsed_s=step.step_s - step.draft_s,
    )
