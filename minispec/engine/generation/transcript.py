"""Stop 5 of 13: the committed part of a run: prompt, steps, and what follows from them.

``steps`` is the single source of truth. To commit a step is to append one record to it. An interruption falls before
or after that; tokens, text and the state of the stopping rules can be rebuilt from the list at any time.

Next: `generation/stopping.py`, which cuts a step where the text ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from minispec.engine.generation.stopping import Stopper
from minispec.engine.records import Draft, Finish, Likely, Piece, Source, Step, TokenDetail, Verdict
from minispec.engine.sampling.draw import find_likeliest


class Stopwatch:
    """Times one step after the other: its drafting, its last pass (which is the target's), and all of it.

    Parameters
    ----------
    clock : callable
        Seconds.

    Attributes
    ----------
    draft_s, target_s, step_s : float
        The seconds of the present step so far.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.start()

    def start(self) -> None:
        """Begin a step."""
        self.draft_s = self.target_s = self.step_s = 0.0
        self.resume()

    def resume(self) -> None:
        """Go on after a pause."""
        self._since = self._clock()

    def note_draft(self) -> None:
        """Note that the draft is finished, and pause."""
        self.draft_s = self._clock() - self._since

    def note_forward(self) -> None:
        """Note that a pass has finished."""
        self.target_s = self._clock() - self._since

    def stop(self) -> None:
        """End the step."""
        self.step_s = self.draft_s + self._clock() - self._since


class Transcript:
    """Prompt and committed steps.

    Parameters
    ----------
    prompt_tokens : sequence of int
    new_stopper : callable
        Returns a stopper that has seen nothing yet.
    watch : Stopwatch
        Knows the seconds of the step that is committed.
    logprobs : bool
        Record a detail per token.

    Attributes
    ----------
    prompt_tokens : tuple of int
    tokens : list of int
        Prompt and emitted tokens; the last one is pending, i.e. in no cache yet.
    steps : list of Step
    pieces : list of list of Piece
        The text each step released.
    finish : Finish or None
    """

    def __init__(
        self,
        prompt_tokens: Sequence[int],
        new_stopper: Callable[[], Stopper],
        watch: Stopwatch,
        *,
        logprobs: bool = False,
    ) -> None:
        self.prompt_tokens = tuple(prompt_tokens)
        self._new_stopper = new_stopper
        self._watch = watch
        self._logprobs = logprobs
        self.steps: list[Step] = []
        self.rebuild()

    def rebuild(self) -> None:
        """Derive everything else from ``steps`` again, after an interruption may have left it half done."""
        self.tokens = list(self.prompt_tokens)
        self.pieces: list[list[Piece]] = []
        self._stopper = self._new_stopper()
        self.finish: Finish | None = self._stopper.check_budget()
        for step in self.steps:
            tokens, sources = self._list_emitted(step.draft_tokens, step.verdict)
            self._advance(tokens, sources)

    @property
    def room(self) -> int:
        """Tokens that may still be emitted."""
        return self._stopper.room

    @property
    def text(self) -> str:
        """Text released so far."""
        return self._stopper.text

    def commit(
        self, draft: Draft, verdict: Verdict, logits: NDArray[np.float32], target_probs: NDArray[np.float64]
    ) -> Step:
        """Cut what a step emits where the text ends, and record it; both arrays are of shape (G + 1, V)."""
        self._watch.stop()
        details = describe_tokens(logits, target_probs, draft, verdict) if self._logprobs else ()
        position = len(self.tokens)
        tokens, sources = self._list_emitted(draft.tokens, verdict)
        kept = self._advance(tokens, sources)
        step = Step(
            index=len(self.steps),
            position=position,
            draft_tokens=draft.tokens,
            verdict=verdict,
            tokens=tokens[:kept],
            sources=sources[:kept],
            draft_s=self._watch.draft_s,
            target_s=self._watch.target_s,
            step_s=self._watch.step_s,
            finish=self.finish,
            details=tuple(details[:kept]),
            draft_target_probs=find_target_probs(target_probs, draft) if self._logprobs else (),
            draft_parents=draft.parents,
        )
        self.steps.append(step)
        return step

    @staticmethod
    def _list_emitted(draft_tokens: tuple[int, ...], verdict: Verdict) -> tuple[tuple[int, ...], tuple[Source, ...]]:
        accepted = [draft_tokens[i] for i in verdict.accepted]
        kept: list[Source] = ["accepted"] * len(accepted)
        return (*accepted, verdict.next_token), (*kept, verdict.source)

    def _advance(self, tokens: Sequence[int], sources: Sequence[Source]) -> int:
        """Push tokens through the stopping rules until one of them ends the text; return how many stay."""
        released: list[Piece] = []
        kept = 0
        for token, source in zip(tokens, sources, strict=True):
            pieces, self.finish, keep = self._stopper.push(token, source)
            released += pieces
            kept += keep
            if self.finish is not None:
                break
        self.tokens += tokens[:kept]
        self.pieces.append(released)
        return kept


NUM_LIKELY = 5
"""Likely tokens that are recorded of each place."""


def describe_tokens(
    logits: NDArray[np.float32], target_probs: NDArray[np.float64], draft: Draft, verdict: Verdict
) -> list[TokenDetail]:
    """Return one detail per token of a verdict: the accepted drafts, then the next token.

    Parameters
    ----------
    logits : ndarray of shape (G + 1, V)
        The target's, before processing.
    target_probs : ndarray of shape (G + 1, V)
        After processing.
    draft : Draft
    verdict : Verdict
    """
    details = []
    row = 0
    for number, node in enumerate(verdict.accepted):
        token = draft.tokens[node]
        accept_prob = _accept_prob(draft, verdict, number)
        details.append(
            describe_token(logits[row], target_probs[row], token, float(draft.probs[node, token]), accept_prob)
        )
        row = node + 1
    details.append(describe_token(logits[row], target_probs[row], verdict.next_token, None, None))
    return details


def find_target_probs(target_probs: NDArray[np.float64], draft: Draft) -> tuple[float, ...]:
    """Return p of each drafted token; ``target_probs`` has shape (G + 1, V)."""
    parents = range(-1, len(draft) - 1) if draft.parents is None else draft.parents
    return tuple(float(target_probs[parent + 1, token]) for token, parent in zip(draft.tokens, parents, strict=True))


def _accept_prob(draft: Draft, verdict: Verdict, number: int) -> float | None:
    """Return the coin's probability; a tree's verdict lists rejected siblings too, so there it has no fixed place."""
    return verdict.accept_probs[number] if draft.is_chain else None


def describe_token(
    logits: NDArray[np.float32],
    probs: NDArray[np.float64],
    token: int,
    q: float | None = None,
    accept_prob: float | None = None,
) -> TokenDetail:
    """Return the detail of one token; both arrays are of shape (V,), ``probs`` after processing."""
    row = logits.astype(np.float64)
    shifted = row - row.max()
    logprobs = shifted - math.log(np.exp(shifted).sum())
    p = float(probs[token])
    return TokenDetail(
        logprob=float(logprobs[token]),
        processed_logprob=math.log(p) if p > 0.0 else -math.inf,
        target_prob=p,
        draft_prob=q,
        accept_prob=accept_prob,
        top=tuple(Likely(i, float(logprobs[i]), float(probs[i])) for i in find_likeliest(logits, NUM_LIKELY).tolist()),
    )
