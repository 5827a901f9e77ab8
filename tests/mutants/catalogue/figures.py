"""Wrong figures of a run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any
from unittest import mock

from minispec.engine.generation import result, transcript
from minispec.engine.generation.result import Metrics
from minispec.engine.generation.transcript import Stopwatch
from minispec.engine.records import Step

from .tools import (
    Patch,
    change,
    mutant,
)

# ── 9: figures ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _figures(changed: Callable[[Metrics, Any], dict[str, Any]]) -> Patch:
    real = Metrics.from_steps

    def from_steps(steps, *args):
        figures = real(steps, *args)
        return dataclasses.replace(figures, **changed(figures, steps))

    return mock.patch.object(Metrics, "from_steps", staticmethod(from_steps))


@mutant(9, "worked example")
def alpha_is_accepted_by_drafted():
    """The rest of a rejected draft counts against alpha."""
    return _figures(lambda m, steps: {"alpha": m.draft_acceptance_rate})


@mutant(9, "worked example")
def the_bonus_counts_as_accepted():
    """Full acceptance counts one more."""
    return _figures(
        lambda m, steps: {"num_accepted_tokens": m.num_accepted_tokens + sum("bonus" in s.sources for s in steps)}
    )


@mutant(9, "worked example")
def recovered_tokens_count_as_accepted():
    """Every token but the bonus counts as a draft."""
    return _figures(
        lambda m, steps: {"num_accepted_tokens": m.num_accepted_tokens + sum("recovered" in s.sources for s in steps)}
    )


@mutant(9, "figures of the last step")
def drafted_is_gamma_times_steps():
    """A draft that was cut short counts in full."""
    return _figures(lambda m, steps: {"num_draft_tokens": 3 * len(steps)})


@mutant(9, "worked example")
def everything_drafted_counts_as_evaluated():
    """Drafts behind a rejection count as tested."""
    return _figures(lambda m, steps: {"num_evaluated_tokens": m.num_draft_tokens})


@mutant(9, "worked example")
def the_prompt_counts_as_generated():
    """Tokens per second with the prompt in them."""
    return _figures(lambda m, steps: {"num_tokens": m.num_tokens + m.num_prompt_tokens})


@mutant(9, "worked example")
def acceptance_length_without_the_targets_token():
    """Accepted drafts per step are called tokens per step."""
    return _figures(lambda m, steps: {"mean_acceptance_length": m.num_accepted_tokens / max(1, m.num_steps)})


@mutant(9, "worked example")
def acceptance_per_position_counts_exactly():
    """Entry i counts the drafts of which exactly i + 1 were accepted."""
    return _figures(
        lambda m, steps: {
            "num_accepted_tokens_per_pos": tuple(sum(s.num_accepted == i + 1 for s in steps) for i in range(4))
        }
    )


# ── times and denominators ──────────────────────────────────────────────────────────────────────────────────────────

for _name, _what, _old, _new in (
    ("positions count one step too many", "A draft of i accepted tokens counts for place i + 1 as well.",
     "step.num_accepted > i", "step.num_accepted >= i"),
    ("time per token over all of them", "The first token divides the time of the later ones, too.",
     "tpot_s=_divide(late_prefill_s + decode_s, num_decoded)",
     "tpot_s=_divide(late_prefill_s + decode_s, num_decoded + 1)"),
    ("time per token with the first", "The prefill's time is divided by the tokens after it.",
     "tpot_s=_divide(late_prefill_s + decode_s, num_decoded)",
     "tpot_s=_divide(ttft_s + decode_s, num_decoded)"),
    ("nobody waits for the drafter's prompt", "What the drafter reads is in no reader's time.",
     "tpot_s=_divide(late_prefill_s + decode_s, num_decoded)", "tpot_s=_divide(decode_s, num_decoded)"),
    ("the first token without its prefill", "Time to first token begins after the prefill.",
     "ttft_s = prefill_s + sum(", "ttft_s = sum("),
    ("the drafter's prompt delays the first token", "Time to first token has what the drafter reads behind it.",
     "ttft_s=ttft_s if first", "ttft_s=ttft_s + late_prefill_s if first"),
    ("the first token is a step", "The prefill's token counts as decoded, and its row as a forward.",
     "first, steps = steps[:1], steps[1:]", "first = ()"),
    ("every step is a draft", "A step that drafted nothing counts as a draft.",
     "sum(bool(step.draft_tokens) for step in steps)", "len(steps)"),
    ("fruitless drafting is free", "Seconds of drafting that came to nothing are left out.",
     "draft_s=sum(step.draft_s for step in steps)", "draft_s=sum(step.draft_s for step in steps if step.draft_tokens)"),
    ("tokens per draft", "Steps without a draft are left out of tokens per forward.",
     "_divide(num_decoded, len(steps))", "_divide(num_decoded, sum(bool(step.draft_tokens) for step in steps))"),
    ("alpha over the rejections", "Accepted by rejected, odds in place of a probability.",
     "alpha=_divide(accepted, evaluated)", "alpha=_divide(accepted, evaluated - accepted)"),
):  # fmt: skip
    change(9, "figures of four steps", _name, _what, Metrics, "from_steps", _old, _new)
change(
    9, "figures of four steps", "no denominator is zero", "A ratio of nothing is 0 instead of None.",
    result, "_divide", "else None", "else 0.0",
)  # fmt: skip
change(
    9, "figures of four steps", "a stop does not uncount", "Drafts that were accepted and cut count as accepted.",
    Step, "num_accepted", 'self.sources.count("accepted")', "self.verdict.num_accepted",
)  # fmt: skip
change(
    9, "figures of four steps", "a rejection that was cut is evaluated",
    "Whatever the verdict ended with counts as answered.",
    Step, "num_evaluated", 'self.sources.count("recovered")', 'int(self.verdict.source == "recovered")',
)  # fmt: skip
change(
    9, "seconds of a step", "a step begins with its verification", "The time of drafting is missing from the step's.",
    Stopwatch, "stop", "self.draft_s + self._clock()", "self._clock()",
)  # fmt: skip
change(
    9, "seconds of a step", "the last forward is not forgotten", "A new step's draft counts from the step before.",
    Stopwatch, "start", "self.resume()", "self._since = getattr(self, '_since', 0.0) or self._clock()",
)  # fmt: skip
change(
    9, "details", "a trees rows are read one by one",
    "The next token's row is that behind as many nodes as were accepted.",
    transcript, "describe_tokens", "row = node + 1", "row = number + 1",
)  # fmt: skip
change(
    9, "details", "the coin of the next place",
    "Each accepted draft is shown with the probability of the one after it.",
    transcript, "_accept_prob", "verdict.accept_probs[number]", "verdict.accept_probs[number + 1]",
)  # fmt: skip
change(
    9, "details", "unprocessed is processed", "The log probability before processing is taken from after it.",
    transcript, "describe_token", "row = logits.astype(np.float64)", "row = np.log(probs)",
)  # fmt: skip
change(
    9, "details", "logits are not normalised", "A log probability without the logarithm of the sum.",
    transcript, "describe_token", "shifted - math.log(np.exp(shifted).sum())", "shifted",
)  # fmt: skip
change(
    9, "promises", "greedy is exact on every backend",
    "Rows that round otherwise in a block are forgotten at temperature 0.",
    result, "find_guarantee", "if not batch_invariant:", "if not batch_invariant and temperature > 0.0:",
)  # fmt: skip
change(
    9, "promises", "greedy forgives a lossy rule", "At temperature 0 any rule is called exact.",
    result, "find_guarantee", "if not verifier.lossless:", "if not verifier.lossless and temperature > 0.0:",
)  # fmt: skip
change(
    9, "promises", "a clock spoils nothing", "A run whose draft lengths follow measured times is called reproducible.",
    result, "is_reproducible", "return not timed or", "return True or",
)  # fmt: skip
