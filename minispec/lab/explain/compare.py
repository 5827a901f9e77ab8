"""Speculative against plain decoding: the same prompt, models and options, in turns."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from minispec.engine.generation.result import Generation
from minispec.lab.explain.step_costs import StepCosts, step_costs
from minispec.lab.measure.record import Totals
from minispec.lab.timer import interleave, ratios, spread
from minispec.lab.trust import doubts

_FEW_STEPS = 8


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a speculative run compares with a plain one.

    Attributes
    ----------
    speedup : float
        Median seconds per token, plain / speculative. Seconds are those of the steps: the prefill of the draft, which
        only speculation has, is left out with the target's.
    speedup_range : tuple of float
        The smallest and the largest ratio of two runs of one round.
    plain_s_per_token, speculative_s_per_token : float
        The medians.
    plain_range, speculative_range : tuple of float
        The least and the most seconds per token of a run.
    repeats : int
    same_tokens : bool
        Whether both emitted the same tokens. Expected under the guarantees bit-exact and same-seed, not otherwise.
    costs : StepCosts or None
        c, v and o of all runs, in steps of the plain ones; None if nothing was drafted.
    tau : float or None
        Tokens per step of the same speculative runs: where γ follows time, no two runs are alike.
    """

    speedup: float
    speedup_range: tuple[float, float]
    plain_s_per_token: float
    speculative_s_per_token: float
    plain_range: tuple[float, float]
    speculative_range: tuple[float, float]
    repeats: int
    same_tokens: bool
    costs: StepCosts | None
    tau: float | None = None


def compare(
    plain: Callable[[], Generation], speculative: Callable[[], Generation], repeats: int = 3
) -> Comparison | None:
    """Run both ``repeats`` times in turns; None if either emits nothing behind its first token.

    Parameters
    ----------
    plain, speculative : callable
        Each starts afresh and returns its generation.
    """
    runs = list(interleave({"plain": plain, "speculative": speculative}, repeats).values())
    metrics = [[run.metrics for run in each] for each in runs]
    if not all(each.num_decode_tokens for way in metrics for each in way):
        return None
    before, after = (Totals.of(way) for way in metrics)
    slow, fast = ([each.decode_s / each.num_decode_tokens for each in way] for way in metrics)
    plain_s, speculative_s = statistics.median(slow), statistics.median(fast)
    return Comparison(
        speedup=plain_s / speculative_s,
        speedup_range=spread(ratios(slow, fast)),
        plain_s_per_token=plain_s,
        speculative_s_per_token=speculative_s,
        plain_range=spread(slow),
        speculative_range=spread(fast),
        repeats=repeats,
        same_tokens=runs[0][-1].token_ids == runs[1][-1].token_ids,
        costs=step_costs(before, after) if after.num_draft_tokens else None,
        tau=after.tau,
    )


def tokens_per_step(generation: Generation, comparison: Comparison | None) -> float | None:
    """Return τ of the runs that costs are of: those of a comparison, else the one run."""
    found = None if comparison is None else comparison.tau
    return generation.metrics.mean_acceptance_length if found is None else found


def advise(generation: Generation, costs: StepCosts | None, comparison: Comparison | None) -> str | None:
    """Return one line where drafts cost more than they saved, with what would help by this run's own figures.

    A row more is taken to cost the same share of v + o - 1 at every length.
    """
    tau, alpha = tokens_per_step(generation, comparison), generation.metrics.alpha
    if costs is None or tau is None or alpha is None:
        return None
    speedup = costs.speedup(tau) if comparison is None else comparison.speedup
    if speedup >= 1.0:
        return None
    from minispec import theory

    lost = f"drafts cost more here than they saved ({speedup:.2f}x plain decoding)"
    num_steps = generation.metrics.num_steps
    if num_steps < _FEW_STEPS:
        return f"{lost}; {num_steps} steps are too few to say why: try a longer text"
    row = max(0.0, costs.verify_cost + costs.overhead - 1.0) / costs.gamma
    rates = {gamma: theory.tau(alpha, gamma) / (1.0 + gamma * (costs.cost_ratio + row)) for gamma in range(1, 9)}
    best = max(rates, key=rates.__getitem__)
    without = theory.tau(alpha, 1) / (1.0 + row)
    if rates[best] > 1.0:
        help_ = f"by these figures --gamma {best} makes about {rates[best]:.2f}x; --gamma auto finds the length"
    elif without > 1.0:
        help_ = f"drafting takes {costs.gamma * costs.cost_ratio:.2f} plain steps of each step: try --draft ngram"
    else:
        help_ = (
            f"a draft token takes {costs.cost_ratio + row:.2f} plain steps and {alpha:.0%} are accepted, so no length "
            "pays: try --fallback request, or --draft none"
        )
    return f"{lost}; {help_}"


def doubts_of_run(
    generation: Generation, costs: StepCosts | None, comparison: Comparison | None, least_cost_ratio: float
) -> list[str]:
    """Return why the timings of a run cannot be trusted (:mod:`minispec.lab.trust`)."""
    tau = tokens_per_step(generation, comparison)
    rows = 1.0 if costs is None else 1.0 + costs.gamma
    speedups = {} if comparison is None or tau is None else {"measured": (comparison.speedup, tau)}
    if costs is not None and tau is not None:
        speedups["predicted"] = costs.speedup(tau), tau
    return doubts(
        spreads=None
        if comparison is None
        else {"plain decoding": comparison.plain_range, "speculative decoding": comparison.speculative_range},
        verify_costs=None if costs is None else {round(rows, 1): costs.verify_cost},
        cost_ratio=None if costs is None else costs.cost_ratio,
        least_cost_ratio=least_cost_ratio,
        speedups=speedups,
    )
