"""Alpha and costs for a plan, measured on prompts: one draft against plain decoding, in turns."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from minispec.lab.measure.grid import Sweep
from minispec.lab.measure.record import Record
from minispec.lab.measure.run import run_units
from minispec.lab.measure.summary import summarise
from minispec.lab.prompts import Prompt
from minispec.lab.step_costs import OTHER_GAMMAS, Totals, VerifyCurve, curve_of_runs, step_costs
from minispec.theory.intervals import Figure


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
        temperature and max_tokens; the rest are those of an :class:`~minispec.lab.measure.grid.Sweep`'s
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
    plain = Totals.of(_totals(r) for r in records if r.draft is None)
    costs = {
        each: step_costs(plain, Totals.of(_totals(r) for r in records if r.draft is not None and r.gamma == each))
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


def _totals(record: Record) -> Totals:
    """Return a record's counts with the medians of its times."""
    times = {
        name: statistics.median(getattr(record, name)) for name in ("prefill_s", "draft_s", "target_s", "decode_s")
    }
    return Totals(record.num_decode_tokens, record.num_steps, record.num_draft_tokens, **times)
