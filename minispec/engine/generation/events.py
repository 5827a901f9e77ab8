"""The events of a run: one stream, five kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from minispec.engine.frozen import record
from minispec.engine.generation.result import Generation
from minispec.engine.records import Draft, Piece, Source, Step, TokenDetail


@record(frozen=True, slots=True)
class Prefilled:
    """The target has read the prompt; the first token, drawn from the last row of that, comes next."""

    num_prompt_tokens: int
    elapsed_s: float


@record(frozen=True, slots=True)
class Drafted:
    """The drafter has proposed ``tokens``; ``probs[i]`` is the probability it drew ``tokens[i]`` with.

    ``parents`` is the node each one follows in a tree; None is a chain.
    """

    step: int
    position: int
    tokens: tuple[int, ...]
    probs: tuple[float, ...]
    elapsed_s: float
    parents: tuple[int, ...] | None = None

    @classmethod
    def from_draft(cls, draft: Draft, step: int, position: int, elapsed_s: float) -> Drafted:
        """Describe the draft of a step."""
        probs = tuple(float(draft.probs[i, token]) for i, token in enumerate(draft.tokens))
        return cls(
            step=step, position=position, tokens=draft.tokens, probs=probs, elapsed_s=elapsed_s, parents=draft.parents
        )


@record(frozen=True, slots=True)
class Verified:
    """The target has judged the draft: the accepted prefix, then ``next_token``, whatever the stops will cut.

    ``accept_probs`` is what the rule says of the drafts it evaluated, see :class:`minispec.engine.records.Verdict`;
    ``target_probs`` is p of each drafted token, if the run records details.
    """

    step: int
    position: int
    num_accepted: int
    rejected: tuple[int, ...]
    next_token: int
    source: Source
    accept_probs: tuple[float, ...]
    elapsed_s: float
    target_probs: tuple[float, ...] = ()

    @classmethod
    def from_step(cls, step: Step) -> Verified:
        """Describe the verdict of a committed step."""
        verdict = step.verdict
        return cls(
            step=step.index,
            position=step.position,
            num_accepted=verdict.num_accepted,
            rejected=tuple(token for i, token in enumerate(step.draft_tokens) if i not in verdict.accepted),
            next_token=verdict.next_token,
            source=verdict.source,
            accept_probs=verdict.accept_probs,
            elapsed_s=step.step_s - step.draft_s,
            target_probs=step.draft_target_probs,
        )


@record(frozen=True, slots=True)
class Emitted:
    """Committed tokens, and the text that is now safe to show (it may lag behind the tokens).

    ``details`` holds log probabilities and acceptance, one per token, if the run records them.
    """

    step: int
    position: int
    token_ids: tuple[int, ...]
    sources: tuple[Source, ...]
    pieces: tuple[Piece, ...]
    details: tuple[TokenDetail, ...] = ()

    @classmethod
    def from_step(cls, step: Step, pieces: Sequence[Piece]) -> Emitted:
        """Describe what a committed step added, and the text it released."""
        return cls(
            step=step.index,
            position=step.position,
            token_ids=step.tokens,
            sources=step.sources,
            pieces=tuple(pieces),
            details=step.details,
        )

    @property
    def text(self) -> str:
        """The released text."""
        return "".join(piece.text for piece in self.pieces)


@record(frozen=True, slots=True)
class Finished:
    """The end: nothing follows."""

    generation: Generation


Event = Prefilled | Drafted | Verified | Emitted | Finished


def to_dict(event: Event) -> dict[str, Any]:
    """Return an event as JSON-able data, its kind under ``"event"``."""
    kind = type(event).__name__.lower()
    if isinstance(event, Finished):
        return {"event": kind, **event.generation.to_dict()}
    return {"event": kind, **asdict(event)}
