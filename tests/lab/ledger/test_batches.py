"""What batches are measured with: each group against itself, texts that differ, and data sheets that make sense."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from minispec.lab.ledger import batches
from minispec.lab.ledger.batches import GroupTimings, make_groups, on_card, time_groups


def test_each_group_is_timed_in_each_way_and_round() -> None:
    calls: list[tuple[str, int]] = []
    groups = [[[1], [10]], [[2], [20]], [[4], [40]]]

    def way(name: str, factor: float):
        def run(group: Sequence[Sequence[int]]) -> float:
            calls.append((name, len(group)))
            return factor * group[0][0]

        return run

    times = time_groups({"plain": way("plain", 3.0), "fast": way("fast", 1.5)}, groups, 2)
    assert calls[:2] == [("plain", 1), ("fast", 1)]  # one text each, to be warm
    assert sorted(calls[2:]) == sorted([("plain", 2), ("fast", 2)] * 6)
    assert times.seconds == {"plain": [[3.0] * 2, [6.0] * 2, [12.0] * 2], "fast": [[1.5] * 2, [3.0] * 2, [6.0] * 2]}
    assert times.faster("plain", "fast") == pytest.approx((2.0, 2.0, 2.0))


def test_an_interval_is_over_groups_and_wider_for_several() -> None:
    times = GroupTimings({"plain": [[2.0], [2.2], [2.1], [2.4]], "fast": [[1.0], [1.2], [0.9], [1.1]]})
    one, of_six = times.faster("plain", "fast"), times.faster("plain", "fast", 6)
    assert one.value == of_six.value == pytest.approx(8.7 / 4.2)
    assert of_six.low < one.low < one.value < one.high < of_six.high


def test_no_two_texts_of_any_group_are_the_same() -> None:
    texts = [tuple(text) for group in make_groups(9, 64) for text in group]
    assert len(set(texts)) == len(texts) == 9 * 64
    assert {len(text) for text in texts} == {batches.PROMPT_TOKENS}


def test_a_card_gains_less_from_drafts_as_the_batch_grows_and_more_from_smaller_weights_alone() -> None:
    points = on_card("h100", (1, 16, 512), alpha=0.7, gamma=4)
    speedups = [point.speedup or 0.0 for point in points]
    assert speedups[0] > speedups[1] > 1.0 > speedups[2]
    (small,) = on_card("h100", (1,), alpha=0.7, gamma=4, storage="int8")
    assert small.tokens_per_s / points[0].tokens_per_s == pytest.approx(2.0, rel=0.05)
