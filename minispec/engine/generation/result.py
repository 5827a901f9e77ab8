"""The result of a generation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from minispec.engine.generation.guarantee import Guarantee, is_reproducible
from minispec.engine.generation.metrics import Metrics
from minispec.engine.generation.transcript import Transcript
from minispec.engine.markup import generation_html
from minispec.engine.records import FinishReason, Piece, Source, Step


@dataclass(frozen=True, repr=False)
class Generation:
    """What was generated, where each token came from, and what it cost.

    Attributes
    ----------
    prompt : str
        Empty if the prompt was given as token ids.
    text : str
        The continuation, cut just before a stop string, without special tokens.
    token_ids, sources : tuple
        One source per token. An end-of-text token is included; a token that completes a stop string is, unless the
        stop begins exactly where the token does.
    finish_reason : {"eos", "stop", "length", "context", "interrupted"}
        "interrupted" while the stream has not come to its end.
    stop : str or None
        The stop string that matched.
    guarantee : {"bit-exact", "same-seed", "same-distribution", "lossy"}
    reproducible : bool
        Whether the same seed and options give the same tokens again; not so where γ follows measured time.
    metrics : Metrics
    options : mapping
        Every option in force.
    steps : tuple of Step
        One record per target forward, the first of them of the forward that ends the prompt.
    timed : bool
        Whether draft lengths followed measured time, so that counts of steps and drafts are those of this run alone.
    """

    prompt: str
    text: str
    token_ids: tuple[int, ...]
    sources: tuple[Source, ...]
    finish_reason: FinishReason
    stop: str | None
    guarantee: Guarantee
    reproducible: bool
    metrics: Metrics
    options: Mapping[str, Any]
    steps: tuple[Step, ...] = ()
    pieces: tuple[Piece, ...] = ()
    timed: bool = False

    @classmethod
    def from_transcript(
        cls,
        transcript: Transcript,
        *,
        prompt: str,
        guarantee: Guarantee,
        timed: bool,
        prefill_s: float,
        late_prefill_s: float,
        options: Mapping[str, Any],
    ) -> Generation:
        """Return what has been committed so far; ``timed`` says whether draft lengths follow measured time."""
        finish, steps, num_prompt_tokens = transcript.finish, transcript.steps, len(transcript.prompt_tokens)
        return cls(
            prompt=prompt,
            text=transcript.text,
            token_ids=tuple(transcript.tokens[num_prompt_tokens:]),
            sources=tuple(source for step in steps for source in step.sources),
            finish_reason="interrupted" if finish is None else finish.reason,
            stop=None if finish is None else finish.stop,
            guarantee=guarantee,
            reproducible=is_reproducible(guarantee, timed=timed),
            metrics=Metrics.from_steps(steps, num_prompt_tokens, prefill_s, late_prefill_s),
            options=options,
            steps=tuple(steps),
            pieces=tuple(piece for pieces in transcript.pieces for piece in pieces),
            timed=timed,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able data: everything but the per-step records."""
        return {
            "prompt": self.prompt,
            "text": self.text,
            "token_ids": list(self.token_ids),
            "sources": list(self.sources),
            "finish_reason": self.finish_reason,
            "stop": self.stop,
            "guarantee": self.guarantee,
            "reproducible": self.reproducible,
            "draft_lengths": [len(step.draft_tokens) for step in self.steps[1:]],
            "token_details": [asdict(detail) for step in self.steps for detail in step.details],
            "options": dict(self.options),
            "metrics": asdict(self.metrics),
        }

    def __repr__(self) -> str:
        """Show the text and what matters about it; everything else is in the attributes."""
        return f"<Generation {self.text!r}: {', '.join(self._facts)}>"

    def _repr_html_(self) -> str:
        """Show the text in a notebook, coloured by source."""
        return generation_html(self.prompt, ((piece.text, piece.source) for piece in self.pieces), self._facts)

    @property
    def _facts(self) -> list[str]:
        length = self.metrics.mean_acceptance_length
        facts = [] if length is None else [f"{length:.2f} tokens per target forward"]
        return [*facts, f"{self.metrics.num_tokens} tokens", self.guarantee, f"finished: {self.finish_reason}"]
