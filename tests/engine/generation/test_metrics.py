"""The denominators of the figures, worked out by hand."""

from __future__ import annotations

import pytest

from minispec.engine.generation.metrics import Metrics
from minispec.engine.generation.stopwatch import Stopwatch
from minispec.engine.records import Step, Verdict


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
    step(0, 0, 0, draft_s=0.0, step_s=1.0),  # the first token, whose forward is the prefill's
    step(1, 4, 3, draft_s=0.1, step_s=5.0),
    step(2, 0, 0, draft_s=0.3, step_s=2.0),  # the drafter tried and had nothing to offer
    step(3, 2, 1, draft_s=0.2, step_s=4.0),
]


def test_the_first_token_is_prefill_and_no_step() -> None:
    """Eight tokens, seven of them in three steps of eleven seconds; the drafter read the prompt in four."""
    figures = Metrics.from_steps(STEPS, num_prompt_tokens=5, prefill_s=10.0, late_prefill_s=4.0)
    assert (figures.num_tokens, figures.num_decode_tokens, figures.num_steps, figures.num_drafts) == (8, 7, 3, 2)
    assert figures.mean_acceptance_length == pytest.approx(7 / 3)
    assert figures.decode_s == pytest.approx(11.0)
    assert figures.target_s == pytest.approx(5.5)
    assert figures.tpot_s == pytest.approx(15.0 / 7)
    assert figures.ttft_s == pytest.approx(11.0)
    assert figures.prefill_s == pytest.approx(15.0)
    alone = Metrics.from_steps(STEPS[:1], 5, 10.0)
    assert (alone.num_tokens, alone.num_decode_tokens, alone.num_steps, alone.ttft_s) == (1, 0, 0, 11.0)
    assert alone.tpot_s is alone.mean_acceptance_length is None


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
