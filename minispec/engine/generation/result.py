"""The result of a generation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from minispec.engine.generation.transcript import Transcript
from minispec.engine.records import FinishReason, Piece, Source, Step
from minispec.engine.verifiers import Verifier

Guarantee = Literal["bit-exact", "same-seed", "same-distribution", "lossy"]

MEANING: dict[Guarantee, str] = {
    "bit-exact": "the tokens are those of plain greedy decoding, always",
    "same-seed": "the tokens are those of plain sampling with this seed",
    "same-distribution": "the tokens are distributed as in plain sampling, up to rounding",
    "lossy": "the tokens do not follow the target's distribution, on purpose",
}


def find_guarantee(verifier: Verifier | None, *, temperature: float, batch_invariant: bool) -> Guarantee:
    """Return the strongest true statement about a run.

    Parameters
    ----------
    verifier : Verifier or None
        The rule that judges drafts; None for plain decoding.
    temperature : float
    batch_invariant : bool
        Whether the *target's* rows have the same bits however many are computed together. Without that a verified row
        may round differently from a decoded one, and a near-tie may fall the other way, also at temperature 0.
    """
    if verifier is None:
        return "bit-exact" if temperature == 0.0 else "same-seed"
    if not verifier.lossless:
        return "lossy"
    if not batch_invariant:
        return "same-distribution"
    if temperature == 0.0:
        return "bit-exact"
    return "same-seed" if verifier.same_seed else "same-distribution"


def is_reproducible(run: Guarantee, *, timed: bool) -> bool:
    """Return whether the same seed and options give the same tokens again.

    A γ that depends on measured time changes which noise is read, and with it the text, unless the text does not
    depend on γ at all. The draft lengths are in the trace; replaying them reproduces the run.
    """
    return not timed or run in ("bit-exact", "same-seed")


@dataclass(frozen=True, slots=True)
class Metrics:
    """Figures of one generation, all derived from its steps. A ratio without a denominator is None.

    Attributes
    ----------
    num_prompt_tokens, num_tokens, num_decode_tokens : int
        Tokens of the prompt; tokens emitted; those of them behind the first, which steps emitted.
    num_steps : int
        Target forwards after the prefill, whose last row gives the first token.
    num_drafts : int
        Steps that drafted at least one token.
    num_draft_tokens, num_accepted_tokens, num_evaluated_tokens : int
        Drafted; accepted and emitted; answered by an emitted token (accepted, or rejected and recovered). A block cut
        by a stop counts only what was emitted as accepted or evaluated, and everything drafted as drafted.
    num_accepted_tokens_per_pos : tuple of int
        Entry i counts the drafts whose token i was accepted and emitted.
    mean_acceptance_length : float or None
        Tokens emitted per target forward behind the first token, the measured tau.
    draft_acceptance_rate : float or None
        accepted / drafted. Not alpha: after a rejection the rest of a draft counts as drafted and never had a chance.
    alpha : float or None
        accepted / evaluated: the maximum-likelihood estimate of the acceptance probability per evaluated position.
    prefill_s, draft_s, target_s, decode_s : float
        Seconds until the first token is there, and in which the drafter reads the prompt; in drafting; in the target's
        forwards; in all steps together. The consumer's own time between two events is in none of them.
    ttft_s : float or None
        Time to first token; the drafter reads the prompt behind it.
    tpot_s : float or None
        Time per output token after the first, in which the drafter reads the prompt.
    """

    num_prompt_tokens: int
    num_tokens: int
    num_decode_tokens: int
    num_steps: int
    num_drafts: int
    num_draft_tokens: int
    num_accepted_tokens: int
    num_evaluated_tokens: int
    num_accepted_tokens_per_pos: tuple[int, ...]
    mean_acceptance_length: float | None
    draft_acceptance_rate: float | None
    alpha: float | None
    prefill_s: float
    draft_s: float
    target_s: float
    decode_s: float
    ttft_s: float | None
    tpot_s: float | None

    @classmethod
    def from_steps(
        cls, steps: Sequence[Step], num_prompt_tokens: int, prefill_s: float, late_prefill_s: float = 0.0
    ) -> Metrics:
        """Compute the figures of one generation, whose first record is the first token; a late prefill is behind it."""
        first, steps = steps[:1], steps[1:]
        ttft_s = prefill_s + sum(step.step_s for step in first)
        num_decoded = sum(len(step.tokens) for step in steps)
        drafted = sum(len(step.draft_tokens) for step in steps)
        accepted = sum(step.num_accepted for step in steps)
        evaluated = sum(step.num_evaluated for step in steps)
        longest = max((len(step.draft_tokens) for step in steps), default=0)
        decode_s = sum(step.step_s for step in steps)
        return cls(
            num_prompt_tokens=num_prompt_tokens,
            num_tokens=num_decoded + sum(len(step.tokens) for step in first),
            num_decode_tokens=num_decoded,
            num_steps=len(steps),
            num_drafts=sum(bool(step.draft_tokens) for step in steps),
            num_draft_tokens=drafted,
            num_accepted_tokens=accepted,
            num_evaluated_tokens=evaluated,
            num_accepted_tokens_per_pos=tuple(sum(step.num_accepted > i for step in steps) for i in range(longest)),
            mean_acceptance_length=_divide(num_decoded, len(steps)),
            draft_acceptance_rate=_divide(accepted, drafted),
            alpha=_divide(accepted, evaluated),
            prefill_s=ttft_s + late_prefill_s,
            draft_s=sum(step.draft_s for step in steps),
            target_s=sum(step.target_s for step in steps),
            decode_s=decode_s,
            ttft_s=ttft_s if first else None,
            tpot_s=_divide(late_prefill_s + decode_s, num_decoded),
        )


def _divide(numerator: float, denominator: float) -> float | None:
    return numerator / denominator if denominator else None


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
        from minispec.engine.markup import generation_html

        return generation_html(self.prompt, ((piece.text, piece.source) for piece in self.pieces), self._facts)

    @property
    def _facts(self) -> list[str]:
        length = self.metrics.mean_acceptance_length
        facts = [] if length is None else [f"{length:.2f} tokens per target pass"]
        return [*facts, f"{self.metrics.num_tokens} tokens", self.guarantee, f"finished: {self.finish_reason}"]
