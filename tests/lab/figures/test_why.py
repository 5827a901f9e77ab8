"""The attribution: planted costs come back exactly, the parts add up, and a wrong attribution is noticed."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minispec.engine.generation import Generation, stream
from minispec.engine.model.toy import TableModel
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.records import Step, Verdict
from minispec.errors import OptionError
from minispec.lab.explain.step_costs import StepCosts, VerifyCurve, curve_of_runs, step_costs
from minispec.lab.explain.why import CAUSES, Attribution, attribute, changes
from minispec.lab.measure.record import Totals
from minispec.lab.simulate import CostedModel, CostModel, SimulatedClock
from minispec.theory import speedup


class ChargingNoise(PhiloxNoise):
    """Every question of the target's side takes time: overhead, planted and counted."""

    def __init__(self, seed: int, clock: SimulatedClock, seconds: float) -> None:
        super().__init__(seed)
        self._clock = clock
        self._seconds = seconds
        self.charged = 0.0

    def _charge(self, purpose: str) -> None:
        if purpose != "draft":
            self._clock.charge(self._seconds)
            self.charged += self._seconds

    def bernoulli(self, prob, at):
        self._charge(at[0])
        return super().bernoulli(prob, at)

    def categorical(self, probs, at):
        self._charge(at[0])
        return super().categorical(probs, at)


class Bill:
    """What was charged to a clock, by who."""

    def __init__(
        self, costs: CostModel, overhead: float, gamma: int, seed: int, draft: bool, num_tokens: int = 40
    ) -> None:
        self.clock = SimulatedClock()
        self.target_rows: list[int] = []
        self.draft_s = 0.0
        self.noise = ChargingNoise(seed, self.clock, overhead)
        target = CostedModel(TableModel(4, 1024, seed=1), self.clock, self._target(costs))
        drafter = CostedModel(TableModel(4, 1024, seed=2), self.clock, self._draft(costs)) if draft else None
        self.run: Generation = stream(
            [0, 1, 2],
            target=target,
            draft=drafter,
            gamma=gamma,
            max_tokens=1 + num_tokens,  # the first is the prompt's
            temperature=1.0,
            top_p=1.0,
            noise=self.noise,
            clock=self.clock,
        ).run()

    def _target(self, costs: CostModel):
        def cost(rows: int) -> float:
            self.target_rows.append(rows)
            return costs.target_cost(rows)

        return cost

    def _draft(self, costs: CostModel):
        def cost(rows: int) -> float:
            self.draft_s += costs.draft_cost(rows)
            return costs.draft_cost(rows)

        return cost


COSTS = st.builds(CostModel, draft=st.floats(0.01, 1.0), row=st.floats(0.0, 1.0))
PLANTED = {"costs": COSTS, "overhead": st.floats(0.0, 0.5), "gamma": st.integers(1, 6), "seed": st.integers(0, 50)}


def attributed(
    costs: CostModel, overhead: float, gamma: int, seed: int, num_tokens: int = 40
) -> tuple[Attribution, Bill, Bill]:
    plain, run = (Bill(costs, overhead, gamma, seed, draft, num_tokens) for draft in (False, True))
    return attribute(plain.run.metrics, run.run.metrics), plain, run


@settings(max_examples=40)
@given(**PLANTED)
def test_planted_costs_come_back(costs: CostModel, overhead: float, gamma: int, seed: int) -> None:
    found, _, bill = attributed(costs, overhead, gamma, seed)
    metrics = bill.run.metrics
    steps, tokens = metrics.num_steps, metrics.num_decode_tokens
    drafted = sum(len(step.draft_tokens) for step in bill.run.steps)
    first = costs.target_cost(3) + overhead  # the prompt, and the draw from its last row
    ideal = drafted / steps + 1
    unit = 1.0 + overhead
    assert found.ideal == pytest.approx(ideal)
    assert found.losses["acceptance"] == pytest.approx((steps - tokens / ideal) * unit)
    assert found.losses["draft"] == pytest.approx(bill.draft_s - costs.draft_cost(3))
    rows = bill.target_rows[1:]
    assert found.losses["verify"] == pytest.approx(sum(costs.row * (m - 1) for m in rows), abs=1e-9)
    assert found.losses["overhead"] == pytest.approx(bill.noise.charged - (1 + steps) * overhead, abs=1e-9)
    assert found.losses["prefill"] == pytest.approx(first + costs.draft_cost(3) - first / ideal)
    assert found.plain_s == pytest.approx(first + tokens * unit)
    assert found.seconds == pytest.approx(bill.clock.now)


TOTALS = st.builds(
    Totals,
    st.integers(1, 500),
    st.integers(1, 500),
    st.integers(1, 500),
    st.floats(0, 9),
    st.floats(0, 9),
    st.floats(0.01, 9),
    st.floats(10, 50),
)


@given(TOTALS, TOTALS)
def test_the_parts_add_up_whatever_the_times_are(plain: Totals, run: Totals) -> None:
    found = attribute(plain, run)
    assert found.plain_s / found.ideal + sum(found.losses.values()) == pytest.approx(found.seconds)
    assert list(found.losses) == list(CAUSES)
    assert found.speedup == pytest.approx(found.plain_s / found.seconds)
    assert found.stairs["prefill"] == pytest.approx(found.speedup)
    costs = found.costs
    decoding = speedup(found.tau, costs.gamma, 1.0, 1.0) * (costs.gamma + 1.0)  # the plain form of tau / (G c + v + o)
    step = costs.gamma * costs.cost_ratio + costs.verify_cost + costs.overhead
    assert decoding / step == pytest.approx(run.num_decode_tokens * costs.unit_s / run.decode_s)


def one_step(drafted: int, accepted: int) -> Step:
    """A response of one step, all of it accepted drafts."""
    told = tuple(range(drafted))
    verdict = Verdict(accepted, 0, "recovered", (1.0,) * accepted)
    return Step(0, 3, told, verdict, told[:accepted], ("accepted",) * accepted)


@pytest.mark.parametrize("drafted", [1, 3, 5])
def test_a_response_shorter_than_a_draft_is_promised_no_more_than_its_length(drafted: int) -> None:
    """Two tokens in one step: nothing was rejected, and no draft makes more of two tokens than two."""
    plain = Totals(2, 2, 0, prefill_s=0.1, draft_s=0.0, target_s=1.8, decode_s=2.0)
    run = Totals(2, 1, drafted, prefill_s=0.1, draft_s=0.1 * drafted, target_s=1.2, decode_s=1.3 + 0.1 * drafted)
    found = attribute(plain, run)
    assert found.ideal == 2.0
    assert found.losses["acceptance"] == 0.0
    made = changes(found, [one_step(drafted, min(2, drafted))], VerifyCurve({9: 1.0}), plain, run)
    others = [change.what for change in made if change.cause == "gamma"]
    assert others == ([] if drafted == 1 else [f"gamma 1 instead of {drafted} drafted per step"])
    assert "acceptance" not in {change.cause for change in made}


def test_a_longer_gamma_than_was_judged_is_said_to_be_extrapolated() -> None:
    plain = Totals(40, 40, 0, prefill_s=0.1, draft_s=0.0, target_s=36.0, decode_s=40.0)
    run = Totals(40, 10, 30, prefill_s=0.1, draft_s=0.3, target_s=9.0, decode_s=10.3)
    made = changes(attribute(plain, run), [one_step(3, 3)] * 10, VerifyCurve({9: 1.0}), plain, run)
    assert [change.what for change in made if change.cause == "gamma"] == [
        "gamma 6 instead of 3 drafted per step (beyond what was judged: extrapolated)"
    ]


def test_the_length_that_was_asked_for_is_no_advice() -> None:
    """The last step had room for one draft: the mean is below the length asked for."""
    plain = Totals(14, 14, 0, prefill_s=0.1, draft_s=0.0, target_s=13.0, decode_s=14.0)
    run = Totals(14, 5, 9, prefill_s=0.1, draft_s=0.9, target_s=4.5, decode_s=5.9)
    steps = [one_step(2, 2)] * 4 + [one_step(1, 1)]
    verify = VerifyCurve({3: 1.0, 4: 9.0})
    for asked, advice in ((3, ["gamma 2 instead of 1.8 drafted per step"]), (2, [])):
        made = changes(attribute(plain, run), steps, verify, plain, run, asked)
        assert [change.what for change in made if change.cause == "gamma"] == advice


def test_an_attribution_that_ignores_verification_is_noticed() -> None:
    """The control: leave out one cause and the sum no longer meets the clock."""
    found, _, _ = attributed(CostModel(0.1, 0.3), 0.1, 4, 0)
    for cause in CAUSES:
        rest = sum(seconds for name, seconds in found.losses.items() if name != cause)
        assert abs(found.plain_s / found.ideal + rest - found.seconds) > 1e-3, cause


@pytest.mark.parametrize("row", [0.0, 0.2])
@pytest.mark.parametrize("draft", [0.02, 0.3])
def test_the_what_if_about_gamma_comes_true(draft: float, row: float) -> None:
    """Run the advised gamma on the same simulated machine; only the randomness of acceptance is between the two."""
    costs = CostModel(draft, row)
    found, plain, bill = attributed(costs, 0.0, 6, 3, num_tokens=600)
    curve = VerifyCurve({m: costs.target_cost(m) for m in range(1, 14)})
    advice = next(
        change
        for change in changes(found, bill.run.steps, curve, plain.run.metrics, bill.run.metrics)
        if change.cause == "gamma"
    )
    gamma = int(advice.what.split()[1].rstrip(","))
    if gamma == 0:
        assert advice.speedup == 1.0
        return
    real, _, _ = attributed(costs, 0.0, gamma, 3, num_tokens=600)
    assert real.speedup == pytest.approx(advice.speedup, rel=0.2)
    assert real.speedup > found.speedup * 0.95


@settings(max_examples=40)
@given(**PLANTED)
def test_a_what_if_is_never_worse_but_for_gamma_and_the_best_comes_first(
    costs: CostModel, overhead: float, gamma: int, seed: int
) -> None:
    found, plain, bill = attributed(costs, overhead, gamma, seed)
    curve = VerifyCurve({m: costs.target_cost(m) for m in range(1, 14)})
    made = changes(found, bill.run.steps, curve, plain.run.metrics, bill.run.metrics)
    assert [change.speedup for change in made] == sorted((change.speedup for change in made), reverse=True)
    for change in made:
        if change.cause in ("acceptance", "draft", "verify", "overhead"):
            assert change.speedup >= found.speedup * (1 - 1e-12)


def test_what_cannot_be_explained_is_refused() -> None:
    some = Totals(1, 1, 1, 0.0, 0.0, 1.0, 1.0)
    for plain, run in [
        (replace(some, num_decode_tokens=0), some),
        (some, replace(some, num_decode_tokens=0)),
        (some, replace(some, num_draft_tokens=0)),
    ]:
        with pytest.raises(OptionError, match="costs need some of each"):
            step_costs(plain, run)


@given(st.dictionaries(st.integers(2, 40), st.floats(0.5, 9.0), min_size=1))
def test_a_curve_goes_through_its_points_and_straight_between_them(points: dict[int, float]) -> None:
    curve = VerifyCurve(points)
    known = sorted({1: 1.0, **points}.items())
    for rows, v in known:
        assert curve(rows) == pytest.approx(v)
    for (m, v), (n, w) in itertools.pairwise(known):
        assert curve((m + n) / 2) == pytest.approx((v + w) / 2)


@settings(max_examples=20)
@given(COSTS, st.integers(0, 20))
def test_the_curve_of_runs_gives_every_run_its_own_step_cost(costs: CostModel, seed: int) -> None:
    plain = Bill(costs, 0.1, 0, seed, draft=False).run.metrics
    found = [step_costs(plain, Bill(costs, 0.1, gamma, seed, draft=True).run.metrics) for gamma in (1, 3, 6)]
    curve = curve_of_runs(found, found[1].cost_ratio)
    for each in found:
        step = each.gamma * each.cost_ratio + each.verify_cost + each.overhead
        assert each.gamma * found[1].cost_ratio + curve(each.gamma + 1.0) == pytest.approx(step)


def jittery_changes(seed: int, noise: float) -> tuple[VerifyCurve, list[StepCosts], float]:
    """Runs of five lengths on a machine whose forwards take their planted time times e^(noise * normal)."""
    costs, random = CostModel(0.2, 0.05), np.random.default_rng(seed)

    class Jittery(CostModel):
        def target_cost(self, rows: int) -> float:
            return costs.target_cost(rows) * float(np.exp(noise * random.normal()))

    machine = Jittery()
    plain = Bill(machine, 0.05, 0, seed, draft=False).run.metrics
    bills = {gamma: Bill(machine, 0.05, gamma, seed, draft=True) for gamma in (5, 1, 2, 4, 8)}
    asked = attribute(plain, bills[5].run.metrics)
    found = [step_costs(plain, bill.run.metrics) for bill in bills.values()]
    curve = curve_of_runs(found, asked.costs.cost_ratio)
    for change in changes(asked, bills[5].run.steps, curve, plain, bills[5].run.metrics):
        assert 0.0 < change.speedup < math.inf
    return curve, found, asked.costs.cost_ratio


def as_measured(found: list[StepCosts], c: float) -> VerifyCurve:
    """The control: the points as the times have them."""
    return VerifyCurve({e.gamma + 1: e.verify_cost + e.overhead + e.gamma * (e.cost_ratio - c) for e in found})


def test_a_noisy_clock_stops_no_explanation_and_is_told() -> None:
    told = refused = 0
    for seed in range(10):
        curve, found, c = jittery_changes(seed, noise=3.0)
        told += curve.warning is not None
        try:
            as_measured(found, c)
        except OptionError:
            refused += 1
    assert told >= 8  # now and then noise looks like costs
    assert refused  # the control: the times alone make no curve


def test_a_steady_clock_is_taken_at_its_word() -> None:
    for seed in range(5):
        curve, found, c = jittery_changes(seed, noise=0.0)
        assert curve.warning is None
        assert curve.points == pytest.approx(as_measured(found, c).points)


@given(st.lists(st.builds(StepCosts, st.just(1.0), st.floats(0.1, 16.0), st.floats(0.0, 4.0), st.floats(-3.0, 9.0),
                          st.floats(-3.0, 3.0)), max_size=6), st.floats(0.0, 4.0))  # fmt: skip
def test_whatever_was_measured_makes_a_curve(found: list[StepCosts], c: float) -> None:
    curve = curve_of_runs(found, c)
    assert all(curve(m) > 0.0 for m in range(1, 40))
    steps = [(rows - 1) * c + v for rows, v in curve.points.items() if rows > 1]
    for shorter, longer in itertools.pairwise(steps):
        assert longer >= shorter - 1e-9


def test_runs_of_one_length_are_averaged() -> None:
    runs = [StepCosts(1.0, 4.0, 0.1, v, 0.0) for v in (1.2, 1.4, 1.3)]
    assert curve_of_runs(runs, 0.1)(5) == pytest.approx(1.3)


@pytest.mark.parametrize("points", [{0: 1.0}, {-2: 1.0}, {3: 0.0}, {3: float("nan")}, {3: float("inf")}])
def test_a_curve_of_nonsense_is_refused(points: dict[int, float]) -> None:
    with pytest.raises(OptionError, match="ROWS=V"):
        VerifyCurve(points)
