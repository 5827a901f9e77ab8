"""Stop 5 of 13: the committed part of a run: prompt, steps, and what follows from them.

``steps`` is the single source of truth. To commit a step is to append one record to it. An interruption falls before
or after that; tokens, text and the state of the stopping rules can be rebuilt from the list at any time.

Next: `generation/stopping.py`, which cuts a step where the text ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from minispec.engine.generation.details import describe_tokens, find_target_probs
from minispec.engine.generation.stopping import Stopper
from minispec.engine.generation.stopwatch import Stopwatch
from minispec.engine.records import Draft, Finish, Piece, Source, Step, Verdict


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
