"""Policies at the places where one off would not show in a mean: hysteresis, pauses, recorded steps, costs of a row."""

from __future__ import annotations

import pytest

from minispec.engine.control import AutoGamma, Fallback, FixedGamma, ReplayedGamma
from minispec.engine.records import Step, Verdict


def step(index: int, drafted: int, accepted: int, *, draft_s: float = 0.0, step_s: float = 1.0) -> Step:
    source = "plain" if not drafted else "recovered" if accepted < drafted else "bonus"
    return Step(
        index=index,
        position=index,
        draft_tokens=(0,) * drafted,
        verdict=Verdict(accepted, 0, source),
        tokens=(0,) * (accepted + 1),
        sources=(*["accepted"] * accepted, source),
        draft_s=draft_s,
        step_s=step_s,
    )


def test_a_replay_follows_the_number_of_the_step() -> None:
    """A step that was interrupted is done again, and observed by another object or not at all."""
    policy = ReplayedGamma([4, 0, 2, 5])
    assert policy.gamma() == 4
    policy.observe(step(3, 2, 0))  # steps 1 and 2 were observed before this object was made
    assert policy.gamma() == 5
    policy.observe(step(3, 2, 0))  # the same step once more
    assert policy.gamma() == 5


def fallback_after(windows: list[float]) -> Fallback:
    """Two plain steps of a second per token; then windows of sixteen steps at these costs per emitted token."""
    policy, index = Fallback(FixedGamma(2)), 0
    for cost in windows:
        while not policy.drafting:
            policy.observe(step(index, 0, 0))
            index += 1
        for _ in range(16):
            if not policy.drafting:
                break
            policy.observe(step(index, 2, 1, step_s=2 * cost))
            index += 1
    return policy


@pytest.mark.parametrize(("cost", "stays"), [(0.9, True), (1.02, True), (1.05, False), (2.0, False)])
def test_hysteresis_while_drafting(cost: float, stays: bool) -> None:
    """A window within three hundredths of plain cost changes nothing."""
    assert fallback_after([cost]).drafting is stays


@pytest.mark.parametrize(("probe", "resumes"), [(0.9, True), (0.99, False), (1.02, False)])
def test_a_probe_must_win_by_the_margin(probe: float, resumes: bool) -> None:
    assert fallback_after([2.0, probe]).drafting is resumes


def pause_of(policy: Fallback) -> int:
    steps = 0
    while not policy.drafting:
        policy.observe(step(1000 + steps, 0, 0))
        steps += 1
    return steps


def test_pauses_double_while_probes_lose_and_begin_again_after_one_wins() -> None:
    assert [pause_of(fallback_after([2.0] * n)) for n in (1, 2, 3)] == [24, 48, 96]
    assert pause_of(fallback_after([2.0, 2.0, 2.0, 0.5, 2.0])) == 24


def test_auto_learns_what_a_row_costs_from_rows_not_from_drafts() -> None:
    """Steps of one row take 1 s, of six rows 2 s: a row costs 0.2 s, and T(1) is 1 s."""
    policy = AutoGamma()
    for index in range(60):
        drafted = 5 * (index % 2)
        policy.gamma()
        policy.observe(step(index, drafted, drafted, step_s=1.0 + 0.2 * drafted))
    policy.gamma()
    assert policy._first_s == pytest.approx(1.0, abs=1e-6)
    assert policy._row_s == pytest.approx(0.2, abs=1e-6)
