"""Beside stop 13: a run. It drives the loop, keeps the clock, and is read as an iterator of events.

The loop's asks are passed on; what it has done becomes events, and while these are read the clock stands still.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from minispec.engine.backends.base import Array
from minispec.engine.control import DEFAULT_GAMMA, FixedGamma, GammaPolicy
from minispec.engine.control.learner import Learner
from minispec.engine.drafters import Drafter, NoDrafter
from minispec.engine.generation.events import Drafted, Emitted, Event, Finished, Prefilled, Verified
from minispec.engine.generation.loop import decode
from minispec.engine.generation.ready import make_ready
from minispec.engine.generation.result import Generation, find_guarantee
from minispec.engine.generation.stopping import Limits, Stopper
from minispec.engine.generation.transcript import Stopwatch, Transcript
from minispec.engine.model.asks import Ask, Asks, ask_for, ask_prefill
from minispec.engine.model.tree_session import TreeSession
from minispec.engine.noise import Noise
from minispec.engine.records import Draft, Step
from minispec.engine.sampling import Sampler
from minispec.engine.tokenizer import Tokenizer
from minispec.engine.verifiers import Verifier, get_verifier


class Deliveries:
    """Which events were delivered: handed out to a reader that has come back for the next.

    Attributes
    ----------
    last : Event or None
        What was handed out last.
    num_verified, num_emitted : int
        Steps whose Verified, whose Emitted event was delivered.
    finished : bool
        Whether the last event of the run was.
    """

    def __init__(self) -> None:
        self.last: Event | None = None
        self.num_verified = self.num_emitted = 0
        self.finished = False

    def note(self) -> None:
        """Count the last event as delivered: its reader has come back. To do so again changes nothing."""
        match self.last:
            case Verified(step=step):
                self.num_verified = step + 1
            case Emitted(step=step):
                self.num_emitted = step + 1
            case Finished():
                self.finished = True


REJECTION = get_verifier("rejection")
_NO_LOGITS = np.empty((0, 0), np.float32)


class Stream:
    """One generation. Iterate over it for events; leave the loop whenever you like, and iterate again to go on.

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
        Check lengths and counters after every step; the passes are checked by handing in an ``AuditedSession``.
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
        self._policy = policy if policy is not None and self.speculates else FixedGamma(DEFAULT_GAMMA * self.speculates)
        self._learner = Learner(self._policy)
        self._verifier = verifier if self.speculates else REJECTION
        self._audit = audit
        self._clock = clock
        self._watch = Stopwatch(clock)
        self._options = dict(options or {})
        self._transcript = Transcript(
            prompt_tokens, lambda: Stopper(limits, tokenizer, len(prompt_tokens)), self._watch, logprobs=logprobs
        )
        self._prefill_s: float | None = None  # of the prompt, until the row that the first token is drawn from is there
        self._late_prefill_s = 0.0  # of a drafter that was fed behind the first token
        self._other_forwards = 0
        self._is_drafter_fed = False
        self._deliveries = Deliveries()
        self._work: Generator[Ask | Event, Array | None, None] | None = None

    @property
    def policy(self) -> GammaPolicy:
        """How many tokens are drafted."""
        return self._policy

    @property
    def has_begun(self) -> bool:
        """Whether the first token is there."""
        return bool(self._transcript.steps)

    @property
    def tokens(self) -> tuple[int, ...]:
        """Prompt and committed tokens so far."""
        return tuple(self._transcript.tokens)

    @property
    def generation(self) -> Generation:
        """What has been generated so far; ``finish_reason`` is "interrupted" until the end."""
        if isinstance(self._deliveries.last, Finished):
            return self._deliveries.last.generation
        return Generation.from_transcript(
            self._transcript,
            prompt=self._prompt,
            guarantee=find_guarantee(
                self._verifier if self.speculates else None,
                temperature=self._sampler.params.temperature,
                batch_invariant=self.target.model.batch_invariant,
            ),
            timed=self._policy.timed,
            prefill_s=self._prefill_s or 0.0,
            late_prefill_s=self._late_prefill_s,
            options=self._options,
        )

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of some tokens; their ids where there is no tokenizer."""
        return " ".join(map(str, tokens)) if self._tokenizer is None else self._tokenizer.decode(tokens)

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        last = self._deliveries.last  # its reader has come back, so it was delivered
        try:
            happened = self.advance()
            while isinstance(happened, Ask):
                happened = self.advance(happened.answer())
            return happened
        except StopIteration:  # the end of the run, which nothing has interrupted
            raise
        except BaseException:
            self.close(delivered=self._deliveries.last is last)  # the next call starts a new generator
            raise

    def advance(self, logits: Array | None = None) -> Ask | Event:
        """Go on to the next event, or to the next logits that the run needs.

        Whoever calls this instead of iterating answers the asks: with a pass for each, or with one for many runs.

        Parameters
        ----------
        logits : ndarray, optional
            The answer to the ask that came last; without one, the run goes on from an event, or begins.
        """
        self._deliveries.note()
        if self._deliveries.finished:
            raise StopIteration
        if self._work is None:
            self._work = self.drive()
        happened = next(self._work) if logits is None else self._work.send(logits)
        if isinstance(happened, Finished):
            self._work = None  # suspended, it would hold this object in a cycle, and with it both caches
        self._deliveries.last = None if isinstance(happened, Ask) else happened
        return happened

    def close(self, *, delivered: bool = True) -> None:
        """Leave the run and set the caches back to the committed tokens; iterating again goes on from there.

        Parameters
        ----------
        delivered : bool
            Whether the last event reached its reader; if it did not, it comes again.
        """
        if not delivered:
            self._deliveries.last = None
        self._work = None
        self._set_back()

    def note_delivered(self) -> None:
        """Count the last event as delivered, though nobody asks for the next yet."""
        self._deliveries.note()

    @property
    def last_event(self) -> Event | None:
        """The event that was handed out last, until the next call asks for another."""
        return self._deliveries.last

    def run(self) -> Generation:
        """Run to the end and return the result."""
        for _ in self:
            pass
        return self.generation

    def drive(self) -> Generator[Ask | Event, Array | None, None]:
        """Yield what the run needs (an ask, to be sent the logits) and what happens, from wherever it was left."""
        self._set_back()
        transcript = self._transcript
        self._learner.learn(transcript.steps)
        make_ready([self.target.model, getattr(getattr(self.drafter, "session", None), "model", None)])
        started = self._clock()
        yield from self._prefill()
        for step in transcript.steps[self._deliveries.num_emitted :]:
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
                if not self.has_begun:  # the prompt is read: these are the logits of its last token
                    yield from self._report_prefilled(self._clock() - started)
            elif isinstance(asked, Draft):
                self._watch.note_draft()
                if self.speculates and self.has_begun:
                    yield Drafted.from_draft(asked, len(transcript.steps), len(transcript.tokens), self._watch.draft_s)
                self._watch.resume()
            else:
                yield from self._tell(asked)
            try:
                asked = loop.send(_NO_LOGITS if logits is None else logits)
            except StopIteration:
                break
        yield Finished(self.generation)

    def _tell(self, step: Step) -> Generator[Ask | Event, Array | None, None]:
        """Yield the events of a step that the loop has taken, while the clock stands still."""
        self._learner.learn(self._transcript.steps)
        if self._audit:
            from minispec.engine.generation.audit import audit_step

            audit_step(self._transcript, self.target, self._other_forwards)
        yield from self._report_committed(step)
        if self.speculates and not self._is_drafter_fed:
            started = self._clock()
            yield from self._feed_drafter()
            self._late_prefill_s += self._clock() - started
        self._watch.start()

    def _report_committed(self, step: Step) -> Sequence[Event]:
        """Return the step's undelivered events."""
        emitted = Emitted.from_step(step, self._transcript.pieces[step.index])
        if self.speculates and step.index and step.index >= self._deliveries.num_verified:
            return Verified.from_step(step), emitted
        return (emitted,)

    def _prefill(self) -> Asks[None]:
        """Feed all committed tokens but the last, as far as caches lack them.

        Not so before the first token: the loop feeds the prompt's last chunk, whose last row it is drawn from, and the
        drafter reads the prompt when it is there.
        """
        if self._transcript.finish is None:
            yield from ask_prefill(self.target, self.tokens[:-1], leave_last=not self.has_begun)
        self._is_drafter_fed = False
        yield from self._feed_drafter()

    def _report_prefilled(self, elapsed_s: float) -> Iterator[Event]:
        """Say that the prompt is read; to read it again after an interruption is no event."""
        if self._prefill_s is None:
            self._prefill_s = elapsed_s
            yield Prefilled(len(self._prompt_tokens), elapsed_s)
        self._watch.start()

    def _feed_drafter(self) -> Asks[None]:
        """Let the drafter take in all committed tokens but the last, if the next step drafts anything."""
        transcript = self._transcript
        if self.has_begun and transcript.finish is None and transcript.room > 1 and self._policy.gamma():
            yield from ask_for(self.drafter.prefill(self.tokens[:-1]))
            self._is_drafter_fed = True

    def _set_back(self) -> None:
        """Make transcript, policy and caches agree on the committed steps, whatever an interruption left behind."""
        self._transcript.rebuild()
        self._learner.set_back(self._transcript.steps)
        length = len(self._transcript.tokens) - 1
        self.target.rollback(length)
        self.drafter.rollback(length)
