"""The denominators of the figures, worked out by hand."""

from __future__ import annotations

import pytest

from minispec.generation.metrics import Metrics
from minispec.generation.stopwatch import Stopwatch
from minispec.records import Step, Verdict


def step(index: int, drafted: int, accepted: int, *, draft_s: float, step_s: float) -> Step:
    emitted = accepted + 1
    return Step(
        index=index,
        position=index,
        draft_tokens=(7,) * drafted,
        verdict=Verdict(accepted, 1, "recovered" if accepted < drafted else "bonus" if drafted else "plain"),
        tokens=(7,) * emitted,
        sources=(*["accepted"] * accepted, "recovered" if accepted < drafted else "bonus"),
        draft_s=draft_s,
        target_s=0.5 * step_s,
        step_s=step_s,
    )


STEPS = [
    step(0, 4, 3, draft_s=0.1, step_s=1.0),
    step(1, 0, 0, draft_s=0.3, step_s=2.0),  # the drafter tried and had nothing to offer
    step(2, 2, 1, draft_s=0.2, step_s=4.0),
]


def test_time_per_token_leaves_out_the_first_step_with_all_its_tokens() -> None:
    """Seven tokens, four of them in the first step: six seconds for the three others."""
    figures = Metrics.from_steps(STEPS, num_prompt_tokens=5, prefill_s=10.0)
    assert figures.tpot_s == pytest.approx(6.0 / 3)
    assert figures.ttft_s == pytest.approx(11.0)
    assert Metrics.from_steps(STEPS[:1], 5, 10.0).tpot_s is None


def test_drafting_that_came_to_nothing_counts_as_drafting() -> None:
    assert Metrics.from_steps(STEPS, 5, 0.0).draft_s == pytest.approx(0.6)


def test_a_step_is_its_drafting_its_forward_and_the_rest_without_the_consumer() -> None:
    now = [0.0]
    watch = Stopwatch(lambda: now[0])
    watch.start()
    now[0] = 1.0
    watch.note_draft()
    now[0] = 50.0  # a slow consumer looks at the draft
    watch.resume()
    now[0] = 53.0
    watch.note_forward()
    now[0] = 58.0  # sampling and the rule
    watch.stop()
    assert (watch.draft_s, watch.target_s, watch.step_s) == (1.0, 3.0, 9.0)
