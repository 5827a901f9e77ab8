"""Why a run is not gamma + 1 times as fast as plain decoding: the seconds between the two, cause by cause.

A run of N tokens behind the first, in S steps that drafted G tokens per step, would ideally take A / I, where
A = P + N u is what plain decoding takes: its prefill, which gives the first token, and u seconds per token, of which t
in the target's forward. I = min(G + 1, N): no step emits more tokens than are left. The run took B. Then

    B - A / I = acceptance + draft + verify + overhead + prefill            (exactly)

    acceptance = (S - N / I) u        steps that full acceptance would have saved, at the price of a plain step
    draft      = seconds of drafting
    verify     = seconds of the target's forwards - S t
    overhead   = other seconds of the steps - S (u - t)
    prefill    = prefill of both models - P / I
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minispec.engine.generation.result import Metrics
from minispec.engine.records import Step
from minispec.lab.explain.step_costs import StepCosts, VerifyCurve, step_costs
from minispec.lab.measure.record import Totals, count_by_position
from minispec.theory import best_gamma_by_position

CAUSES = ("acceptance", "draft", "verify", "overhead", "prefill")


@dataclass(frozen=True, slots=True)
class Attribution:
    """The distance from the ideal, in seconds and in speedups.

    Attributes
    ----------
    plain_s, seconds : float
        A, what plain decoding of as many tokens takes; B, what the run took. Prefill included.
    ideal : float
        min(G + 1, N): the speedup if every draft were accepted, drafts cost nothing and a step as much as a plain one.
    speedup : float
        A / B.
    losses : dict of str to float
        Seconds per cause; they add up to B - A / I. A negative one is a gain.
    stairs : dict of str to float
        The speedup left after each cause and those before it, from the ideal down to A / B. How high a stair is
        depends on their order; the seconds do not.
    costs : StepCosts
    num_tokens : int
        N, those behind the first.
    tau : float
        Tokens per step.
    """

    plain_s: float
    seconds: float
    ideal: float
    speedup: float
    losses: dict[str, float]
    stairs: dict[str, float]
    costs: StepCosts
    num_tokens: int
    tau: float


def attribute(plain: Metrics | Totals, run: Metrics | Totals) -> Attribution:
    """Attribute the distance of a speculative run from the ideal.

    Parameters
    ----------
    plain, run : Metrics | Totals
        Of a plain run and the speculative one; they may differ in length, the plain one is scaled per token.

    Raises
    ------
    OptionError
        If either emitted nothing behind its first token, or nothing was drafted.
    """
    costs = step_costs(plain, run)
    ideal = min(costs.gamma + 1.0, float(run.num_decode_tokens))
    row = plain.target_s / plain.num_decode_tokens
    plain_s = plain.prefill_s + run.num_decode_tokens * costs.unit_s
    other = run.decode_s - run.draft_s - run.target_s
    losses = {
        "acceptance": (run.num_steps - run.num_decode_tokens / ideal) * costs.unit_s,
        "draft": run.draft_s,
        "verify": run.target_s - run.num_steps * row,
        "overhead": other - run.num_steps * (costs.unit_s - row),
        "prefill": run.prefill_s - plain.prefill_s / ideal,
    }
    spent, stairs = plain_s / ideal, {}
    for cause in CAUSES:
        spent += losses[cause]
        stairs[cause] = plain_s / spent
    seconds = run.prefill_s + run.decode_s
    return Attribution(
        plain_s=plain_s,
        seconds=seconds,
        ideal=ideal,
        speedup=plain_s / seconds,
        losses=losses,
        stairs=stairs,
        costs=costs,
        num_tokens=run.num_decode_tokens,
        tau=run.num_decode_tokens / run.num_steps,
    )


@dataclass(frozen=True, slots=True)
class Change:
    """A what-if: one thing changed, all else as it was.

    Attributes
    ----------
    cause : str
        The cause it works on, or "gamma".
    what : str
        The change, in words.
    speedup : float
        The speedup it would give, prefill included.
    """

    cause: str
    what: str
    speedup: float


def changes(
    found: Attribution,
    steps: Sequence[Step],
    verify: VerifyCurve,
    plain: Metrics | Totals,
    run: Metrics | Totals,
    asked: int | None = None,
) -> list[Change]:
    """Return a what-if per cause, and the best other gamma, the most helpful first.

    So that they can be compared, each removes half of one cause; gamma changes to the length that the acceptances by
    position, c and v(m) + o make best. What would change nothing is left out.

    Parameters
    ----------
    found : Attribution
    steps : sequence of Step
        Of the speculative run.
    verify : VerifyCurve
        v(m) + o, in units of a plain step (:func:`minispec.lab.explain.step_costs.curve_of_runs`).
    plain, run : Metrics | Totals
        Those that ``found`` was made from.
    asked : int, optional
        The draft length that the run was to have; its steps may be shorter, and their mean too.
    """
    halves = {
        "draft": "drafts at half their cost",
        "verify": "verification at half its extra cost",
        "overhead": "half the overhead",
    }
    twice = (plain.prefill_s + 2 * (found.plain_s - plain.prefill_s)) / (run.prefill_s + 2 * run.decode_s)
    made = [
        *(
            Change(cause, what, found.plain_s / (found.seconds - found.losses[cause] / 2))
            for cause, what in halves.items()
            if found.losses[cause] > 0.0
        ),
        Change("prefill", "a response twice as long", twice),
    ]
    if found.tau < found.ideal:
        made.append(_more_agreement(found, run))
    gamma = _other_gamma(found, steps, verify, run, asked)
    if gamma is not None:
        made.append(gamma)
    return sorted(made, key=lambda change: -change.speedup)


def _more_agreement(found: Attribution, run: Metrics | Totals) -> Change:
    halfway = (found.tau + found.ideal) / 2
    return Change(
        "acceptance",
        f"{halfway:.2f} tokens per step, halfway to {found.ideal:.2f}: a draft that agrees more",
        found.plain_s / (run.prefill_s + run.decode_s * found.tau / halfway),
    )


def _other_gamma(
    found: Attribution, steps: Sequence[Step], verify: VerifyCurve, run: Metrics | Totals, asked: int | None
) -> Change | None:
    """Return the draft length that acceptances by position and costs make best; None if it was asked for or drafted."""
    costs = found.costs
    counts = count_by_position(steps)
    measured = [accepted / evaluated for accepted, evaluated in counts]
    pooled = sum(accepted for accepted, _ in counts) / max(1, sum(evaluated for _, evaluated in counts))
    longest = max_gamma(len(counts), run.num_decode_tokens)
    acceptances = (measured + [pooled] * (longest - len(measured)))[:longest]
    best = best_gamma_by_position(acceptances, costs.cost_ratio, verify)
    if best.gamma == 0:
        return Change("gamma", "gamma 0, plain decoding", 1.0)
    if best.gamma in (asked, costs.gamma):
        return None
    decode_s = run.num_decode_tokens * costs.unit_s / best.speedup
    beyond = " (beyond what was judged: extrapolated)" if best.gamma > len(measured) else ""
    what = f"gamma {best.gamma} instead of {costs.gamma:.2g} drafted per step{beyond}"
    return Change("gamma", what, found.plain_s / (run.prefill_s + decode_s))


def max_gamma(judged: int, num_tokens: int) -> int:
    """Return how far other draft lengths are looked at: twice as far as was judged, within the response."""
    return min(max(4, 2 * judged), num_tokens - 1)
