"""A plan: what speculation will gain, from alpha and costs, given or measured, and how long to draft."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from minispec.errors import OptionError
from minispec.lab.explain.step_costs import OTHER_GAMMAS, VerifyCurve, curve_of_runs, step_costs
from minispec.lab.measure.record import Totals
from minispec.lab.measure.summary import summarise
from minispec.lab.measure.sweep import Sweep, run_units
from minispec.lab.prompts import Prompt
from minispec.theory import (
    BestGamma,
    VerifyCost,
    alpha_for_speedup,
    best_gamma,
    break_even_rate,
    cost_ratio_for_speedup,
    draft_acceptance_rate,
    speedup,
    tau,
)
from minispec.theory._checks import MAX_GAMMA as LONGEST
from minispec.theory.intervals import Figure

MAX_GAMMA = 16


@dataclass(frozen=True, slots=True)
class Length:
    """What a draft length gives.

    Attributes
    ----------
    gamma : int
        0 is plain decoding.
    tau : float
        Tokens per target forward.
    speedup : Figure
        With the interval that alpha's interval gives it.
    break_even_alpha : float or None
        The alpha above which it pays; None if none does, or gamma is 0.
    break_even_rate : float or None
        The same as accepted / drafted.
    break_even_cost : float or None
        The draft cost c below which it pays.
    """

    gamma: int
    tau: float
    speedup: Figure
    break_even_alpha: float | None = None
    break_even_rate: float | None = None
    break_even_cost: float | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Every draft length up to a limit, the best one, and what other alphas and costs would give.

    Attributes
    ----------
    alpha : Figure
    cost_ratio, overhead : float
        c and o, in units of a plain step.
    lengths : tuple of Length
        From 0 on.
    best, best_low, best_high : BestGamma
        At alpha, and at the ends of its interval.
    sensitivity : dict of float to dict of float to BestGamma
        alpha, then c, to the best length there.
    """

    alpha: Figure
    cost_ratio: float
    overhead: float
    lengths: tuple[Length, ...]
    best: BestGamma
    best_low: BestGamma
    best_high: BestGamma
    sensitivity: dict[float, dict[float, BestGamma]]


def make_plan(
    alpha: Figure, cost_ratio: float, verify_cost: VerifyCost = 1.0, overhead: float = 0.0, max_gamma: int = MAX_GAMMA
) -> Plan:
    """Plan with an alpha (and its interval, if it has one) and costs.

    Parameters
    ----------
    alpha : Figure
    cost_ratio : float
        c > 0: with drafts that cost nothing there is no best length, only a longest.
    verify_cost : float or callable
        v >= 1, as in :func:`minispec.theory.speedup`.
    overhead : float
        o.
    max_gamma : int
        The longest draft to look at.

    Raises
    ------
    OptionError
        If a figure is outside its range.

    Examples
    --------
    >>> plan = make_plan(Figure(0.8), 0.05)
    >>> plan.best.gamma, round(plan.best.speedup, 3), round(plan.lengths[5].tau, 3)
    (8, 3.092, 3.689)
    """
    if alpha.value is None:
        raise OptionError("there is no alpha, because nothing was drafted; a plan needs one. Try --gamma 5")
    if not cost_ratio > 0.0:
        raise OptionError(f"the cost ratio is {cost_ratio}; drafts cost something, so it is > 0. Try --cost-ratio 0.1")
    check_max_gamma(max_gamma)
    for rows in range(2, max_gamma + 2):
        cost = verify_cost(rows) if callable(verify_cost) else verify_cost
        if not cost >= 1.0:
            raise OptionError(
                f"the verify cost over {rows} rows is {cost:.3g}; a pass over more rows is never cheaper than over "
                "one, so v is >= 1 (a smaller figure is noise: measure again). Try --verify-cost 1"
            )
    ends = [alpha.value if end is None else end for end in (alpha.low, alpha.high)]

    def best(a: float, c: float) -> BestGamma:
        return best_gamma(a, c, verify_cost, overhead, max_gamma=max_gamma)

    lengths = [Length(0, 1.0, Figure(1.0))]
    for gamma in range(1, max_gamma + 1):
        gains = [speedup(tau(a, gamma), gamma, cost_ratio, verify_cost, overhead) for a in (alpha.value, *ends)]
        lengths.append(
            Length(
                gamma=gamma,
                tau=tau(alpha.value, gamma),
                speedup=Figure(*gains) if alpha.low is not None else Figure(gains[0]),
                break_even_alpha=alpha_for_speedup(1.0, gamma, cost_ratio, verify_cost, overhead),
                break_even_rate=break_even_rate(gamma, cost_ratio, verify_cost, overhead),
                break_even_cost=cost_ratio_for_speedup(1.0, tau(alpha.value, gamma), gamma, verify_cost, overhead),
            )
        )
    return Plan(
        alpha=alpha,
        cost_ratio=cost_ratio,
        overhead=overhead,
        lengths=tuple(lengths),
        best=best(alpha.value, cost_ratio),
        best_low=best(ends[0], cost_ratio),
        best_high=best(ends[1], cost_ratio),
        sensitivity={a: {c: best(a, c) for c in _around_cost(cost_ratio)} for a in _around_alpha(alpha.value)},
    )


def check_max_gamma(max_gamma: int) -> None:
    """Refuse a longest draft that is none, or beyond what the formulas take."""
    if not 1 <= max_gamma <= LONGEST:
        raise OptionError(f"max-gamma is {max_gamma}; a draft has 1 to {LONGEST} tokens. Try --max-gamma {MAX_GAMMA}")


def _around_alpha(alpha: float) -> Sequence[float]:
    return sorted({round(min(1.0, max(0.0, alpha + step)), 12) for step in (-0.2, -0.1, 0.0, 0.1, 0.2)})


def _around_cost(cost_ratio: float) -> Sequence[float]:
    return [cost_ratio * factor for factor in (0.25, 0.5, 1.0, 2.0, 4.0)]


def rate_note(alpha: Figure, gamma: int) -> str:
    """Say what accepted / drafted is at an alpha, for those who have that figure.

    Examples
    --------
    >>> rate_note(Figure(0.8), 5)
    'at γ = 5, α = 0.800 means that 53.8 % of the drafted tokens are accepted'
    """
    assert alpha.value is not None
    rate = draft_acceptance_rate(alpha.value, gamma)
    return f"at γ = {gamma}, α = {alpha.value:.3f} means that {100 * rate:.1f} % of the drafted tokens are accepted"


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured, in units of a plain step.

    Attributes
    ----------
    alpha, tau, speedup : Figure
        Accepted / judged, tokens per step and the measured speedup at ``gamma``, each with its interval over prompts.
    gamma : int
    cost_ratio, verify_cost, overhead : float
        c, v and o of the runs.
    verify : VerifyCurve
        v(m) + o, from the runs of every length.
    num_prompts : int
    """

    alpha: Figure
    tau: Figure
    speedup: Figure
    gamma: int
    cost_ratio: float
    verify_cost: float
    overhead: float
    verify: VerifyCurve
    num_prompts: int

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able data."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        figures = {name: value._asdict() for name, value in fields.items() if isinstance(value, Figure)}
        return fields | figures | {"verify": self.verify.points, "evened_out": self.verify.evened_out}


def measure_plan(prompts: Sequence[Prompt], target: str, draft: str, gamma: int, **options: Any) -> Measured:
    """Decode prompts plainly, with drafts of ``gamma`` tokens, and with longer and shorter ones, in turns.

    Parameters
    ----------
    prompts : sequence of Prompt
    target, draft : str
    gamma : int
        Where alpha and c are taken from.
    **options
        temperature and max_tokens; the rest are those of an :class:`~minispec.lab.measure.sweep.Sweep`'s
        ``options``.
    """
    sweep = Sweep(
        prompts=prompts,
        targets=(target,),
        drafts=(draft,),
        gammas=sorted({gamma, *OTHER_GAMMAS}),
        temperatures=(options.pop("temperature"),),
        max_tokens=options.pop("max_tokens"),
        repeats=2,
        options=options,
    )
    records = [record for unit in run_units(sweep, list(sweep.units())) for record in unit]
    plain = Totals.of(r.totals for r in records if r.draft is None)
    costs = {
        each: step_costs(plain, Totals.of(r.totals for r in records if r.draft is not None and r.gamma == each))
        for each in sweep.gammas
    }
    summary = next(s for s in summarise(records) if not s.variant.plain and s.variant.gamma == gamma)
    own = costs[gamma]
    return Measured(
        alpha=summary.alpha,
        tau=summary.mean_acceptance_length,
        speedup=summary.speedup,
        gamma=gamma,
        cost_ratio=own.cost_ratio,
        verify_cost=own.verify_cost,
        overhead=own.overhead,
        verify=curve_of_runs(costs.values(), own.cost_ratio),
        num_prompts=len(prompts),
    )
