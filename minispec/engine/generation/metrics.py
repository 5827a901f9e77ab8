"""Counts and times of one generation. Names are vLLM's where it has the figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minispec.engine.records import Step


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
