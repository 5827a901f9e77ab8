"""The scheduler alone, through thousands of orders of arrival: nobody is overtaken, nobody starves."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minispec.engine.batching import Scheduler
from minispec.errors import InvariantError


@settings(max_examples=1000, deadline=None)
@given(
    arrivals=st.lists(st.tuples(st.integers(0, 20), st.integers(1, 6), st.integers(1, 8)), min_size=1, max_size=12),
    num_pages=st.integers(8, 20),
    max_running=st.integers(1, 5),
    cancelled=st.sets(st.integers(0, 11)),
)
def test_every_request_ends_in_time(arrivals, num_pages, max_running, cancelled):
    """A toy engine: a request grows by a page a step, from some pages at its start; who runs out of them must wait.

    The bound: from its arrival on, a request ends after the steps that all before it need, and its own.
    """
    scheduler = Scheduler(max_running, max_rows=64)
    arrivals = sorted(arrivals)
    held, grown, ended_at = {}, {}, {}
    step = 0
    while len(ended_at) < len(arrivals):
        for request, (at, _, _) in enumerate(arrivals):
            if at == step:
                scheduler.add(request)
                grown[request] = 0
            if at + 2 == step and request in cancelled and request not in ended_at:
                scheduler.remove(request)
                held.pop(request, None)
                ended_at[request] = step

        def needed(request):
            return min(num_pages, arrivals[request][1] + grown[request])

        while (
            admitted := scheduler.admit(lambda request: sum(held.values()) + needed(request) <= num_pages)
        ) is not None:
            assert all(admitted < other for other in scheduler.waiting)
            held[admitted] = needed(admitted)
        assert set(held) == set(scheduler.running)
        assert scheduler.running == sorted(scheduler.running)
        assert len(scheduler.running) <= max_running
        oldest = min([*scheduler.running, *scheduler.waiting], default=None)
        assert oldest is None or oldest in scheduler.running
        for request in list(scheduler.running):
            if request not in scheduler.running:
                continue  # made room a moment ago
            while sum(held.values()) + 1 > num_pages and len(scheduler.running) > 1:
                victim = scheduler.preempt()
                assert victim == max(held)
                assert victim != oldest
                del held[victim]
            if request in scheduler.running:
                grown[request] += 1
                held[request] = min(num_pages, held[request] + 1)
                if grown[request] == arrivals[request][2]:
                    scheduler.remove(request)
                    del held[request]
                    ended_at[request] = step
        step += 1
    for request, (at, _, own) in enumerate(arrivals):
        assert ended_at[request] <= max(at, arrivals[request][0]) + own + sum(
            steps for _, _, steps in arrivals[:request]
        )


@settings(max_examples=300, deadline=None)
@given(
    chunks=st.dictionaries(st.integers(0, 30), st.integers(1, 64), max_size=10),
    num_rows=st.integers(0, 100),
    max_rows=st.integers(1, 128),
)
def test_prompts_join_within_the_budget_and_the_oldest_always(chunks, num_rows, max_rows):
    scheduler = Scheduler(8, max_rows)
    chosen = scheduler.choose_prefills(list(chunks.items()), num_rows)
    assert chosen == sorted(chunks)[: len(chosen)]
    assert bool(chosen) == bool(chunks)
    total = num_rows + sum(chunks[request] for request in chosen)
    assert len(chosen) <= 1 or total <= max_rows
    if len(chosen) < len(chunks):
        assert total + chunks[sorted(chunks)[len(chosen)]] > max_rows


def test_the_oldest_is_never_preempted():
    scheduler = Scheduler(2, 8)
    scheduler.add(3)
    assert scheduler.admit(lambda _: True) == 3
    with pytest.raises(InvariantError, match="never preempted"):
        scheduler.preempt()


def test_a_preempted_request_comes_before_those_that_arrived_after_it():
    scheduler = Scheduler(2, 8)
    for request in (0, 1, 2):
        scheduler.add(request)
    scheduler.admit(lambda _: True)
    scheduler.admit(lambda _: True)
    assert scheduler.preempt() == 1
    assert scheduler.waiting == [1, 2]
    assert scheduler.num_preemptions == 1
