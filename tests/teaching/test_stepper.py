"""The picture one steps through shows a run that is right, frame by frame."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from minispec.viz.stepper import ACCEPTED, REJECTED, Frame, Stepper, record, record_greedy

P = np.array([0.5, 0.3, 0.2])
Q = np.array([0.2, 0.3, 0.5])


def run(seed: int, num_tokens: int = 6) -> list[Frame]:
    return record(lambda text: P, lambda text: Q, [0], gamma=2, num_tokens=num_tokens, seed=seed)


def test_a_round_goes_from_the_draft_to_the_text() -> None:
    frames = run(seed=1)
    assert frames[0].stage == "draft"
    assert frames[-1].stage == "commit"
    assert len(frames[-1].slots) == 1 + 6
    assert {frame.stage for seed in range(5) for frame in run(seed)} == {
        "draft",
        "verify",
        "accept",
        "residual",
        "bonus",
        "commit",
    }


def test_what_is_committed_stays() -> None:
    texts = [[token for token, _ in frame.slots] for frame in run(seed=3) if frame.stage == "commit"]
    for before, after in pairwise(texts):
        assert after[: len(before)] == before


def test_every_law_that_is_drawn_from_sums_to_one() -> None:
    for frame in run(seed=2):
        for name, law in frame.laws.items():
            assert np.isclose(law.sum(), 1.0) or name == "min(p, q)"


def test_the_recorded_run_has_the_targets_law() -> None:
    """Of 3000 first tokens; five standard errors, and the draft's own law is far outside."""
    first = Counter(run(seed, num_tokens=2)[-1].slots[1][0] for seed in range(3000))
    found = np.array([first[token] for token in range(3)]) / 3000
    assert abs(found - P).max() < 5 * np.sqrt(0.25 / 3000)
    assert abs(found - Q).max() > 10 * np.sqrt(0.25 / 3000)


def law_after(text: list[int], peak: float, salt: int) -> np.ndarray:
    """A law whose favourite depends on the whole text."""
    law = np.full(5, (1 - peak) / 4)
    law[hash((tuple(text), salt if len(text) % 2 else 0)) % 5] = peak
    return law


@pytest.mark.parametrize("gamma", [0, 1, 3])
@pytest.mark.parametrize("num_tokens", [1, 2, 30])
def test_the_greedy_run_is_the_targets_own_text(gamma: int, num_tokens: int) -> None:
    """Whatever the draft; here it is wrong on most texts of odd length."""
    target, draft = (lambda text, salt=salt: law_after(text, 0.6, salt) for salt in (1, 2))
    text = [0]
    for _ in range(num_tokens):
        text.append(int(target(text).argmax()))
    frames = record_greedy(target, draft, [0], gamma=gamma, num_tokens=num_tokens)
    assert [token for token, _ in frames[-1].slots] == text
    for frame in frames:
        for i, (token, state) in enumerate(frame.slots):
            before = [one for one, _ in frame.slots[:i]]
            if state == ACCEPTED or (state == REJECTED and frame.slots[i - 1][1] != REJECTED):
                assert (int(target(before).argmax()) == token) == (state == ACCEPTED)


def test_a_greedy_round_tells_its_stages_in_order() -> None:
    target, draft = (lambda text, salt=salt: law_after(text, 0.6, salt) for salt in (1, 2))
    stages = [frame.stage for frame in record_greedy(target, draft, [0], gamma=2, num_tokens=30)]
    told = " ".join(stages)
    assert re.fullmatch(r"((draft ){0,2}(verify accept ){0,2}(replace|bonus) commit ?)+", told)
    assert {"replace", "bonus"} <= set(stages)


def test_one_frame_is_seen_without_a_script_and_all_have_one_scale() -> None:
    frames = run(seed=1)
    page = Stepper(frames, lambda token: "<abc"[token : token + 1])._repr_html_()
    assert page.count('class="frame"') == len(frames)
    assert page.count('class="frame" hidden') == len(frames) - 1
    assert "ArrowRight" in page
    assert "&lt;" in page  # tokens are text, whatever they hold
    heights = {float(h) for h in re.findall(r'height="([\d.]+)" fill="#cc79a7"', page)}
    assert heights <= {140 * 0.2, 140 * 0.3, 140 * 0.5, 10.0}  # q, never rescaled; 10 is its mark in the legend
