"""What a server needs of the engine: to be told at once, to forget, to know whose fault a failed step was."""

from __future__ import annotations

from unittest import mock

import pytest

from minispec import generate
from minispec.engine.batching import Engine
from minispec.engine.generation import Drafted, Finished, Verified
from minispec.engine.model.toy import TableModel
from minispec.engine.noise.philox import PhiloxNoise
from minispec.errors import OptionError

TARGET, DRAFT = TableModel(5, 48, seed=1), TableModel(5, 48, seed=2)


def test_a_draft_is_told_before_it_is_judged():
    """At that moment the target has not seen it."""
    engine = Engine(TARGET)
    number = engine.add([0], draft=DRAFT, gamma=3, max_tokens=6)
    told, forwards = [], []

    def watch(of, event):
        assert of == number
        told.append(event)
        forwards.append((type(event), engine.num_forwards))

    while not engine.is_idle:
        before = len(told)
        assert [event for _, event in engine.step(watch)] == told[before:]
    assert isinstance(told[-1], Finished)
    drafted = [count for kind, count in forwards if kind is Drafted]
    judged = [count for kind, count in forwards if kind is Verified]
    assert drafted == list(range(1, 1 + len(drafted)))  # in step i the target has run i times
    assert judged == drafted  # it is counted once all have been told


def test_what_has_ended_is_kept_until_it_is_forgotten():
    engine = Engine(TARGET)
    numbers = [engine.add([0], draft=None, max_tokens=3, seed=i) for i in range(3)]
    with pytest.raises(OptionError, match="request 0 is none that has ended"):
        engine.forget(0)
    cut = engine.cancel(1)
    engine.run()
    assert engine.generation(1) == cut
    for number in numbers:
        engine.forget(number)
        with pytest.raises(OptionError, match=f"no request {number} is waiting or running"):
            engine.generation(number)
        with pytest.raises(OptionError, match="none that has ended"):
            engine.forget(number)
    assert engine.run() == []
    assert engine._batch.ended == {}


@pytest.mark.parametrize("number", [-1, 1, 99])
def test_an_unknown_number_is_said_in_a_sentence(number):
    engine = Engine(TARGET)
    with pytest.raises(OptionError, match=r"no request \S+ is waiting or running. Give one that add returned"):
        engine.cancel(number)
    engine.add([0], draft=None, max_tokens=1)
    with pytest.raises(OptionError, match="numbers were given up to 0"):
        engine.cancel(number)


class Faulty(PhiloxNoise):
    """Noise that fails when it is asked for the n-th time."""

    def __init__(self, seed, left):
        super().__init__(seed)
        self.left = left

    def categorical(self, probs, at):
        self.left -= 1
        if self.left == 0:
            raise RuntimeError("on purpose")
        return super().categorical(probs, at)


@pytest.mark.parametrize("left", range(1, 14))
def test_a_failed_step_is_blamed_on_whose_work_it_was_and_the_others_lose_nothing(left):
    engine = Engine(TARGET, page_size=4)
    others = [engine.add([0, i], draft=DRAFT, gamma=3, max_tokens=12, seed=i) for i in range(2)]
    faulty = engine.add([0], draft=DRAFT, gamma=3, max_tokens=12, noise=Faulty(7, left))
    others.append(engine.add([1], draft=None, max_tokens=12, seed=9))
    blamed = []
    while not engine.is_idle:
        try:
            engine.step()
        except RuntimeError:
            blamed.append(engine.blamed)
            engine.cancel(engine.blamed)
    assert blamed == [faulty]
    alone = [generate([0, i], target=TARGET, draft=DRAFT, max_tokens=12, seed=i) for i in range(2)]
    alone.append(generate([1], target=TARGET, draft=None, max_tokens=12, seed=9))
    assert [engine.generation(number).token_ids for number in others] == [each.token_ids for each in alone]
    assert engine.blamed is None
    assert engine.target.pool.num_free == engine.target.pool.num_pages


def test_who_turns_out_to_need_too_much_memory_is_blamed_and_the_others_lose_nothing():
    engine = Engine(TARGET, page_size=4, kv_memory=slots_of(TARGET, 24))
    others = [engine.add([0, i], draft=None, max_tokens=8, seed=i) for i in range(3)]
    request = {"draft": "synthetic:alpha=0.5", "gamma": 3, "max_tokens": 8}  # a second session in the same pages
    with pytest.raises(OptionError, match=r"drafting for the request may need 10 pages of 4 slots, and .* holds 6"):
        engine.add([0] * 12, **request)
    with mock.patch.object(engine.models, "require_room"):  # as if a draft of the caller's had not said what it takes
        hungry = engine.add([0] * 12, **request)
    blamed = []
    while not engine.is_idle:
        try:
            engine.step()
        except OptionError:
            blamed.append(engine.blamed)
            engine.cancel(engine.blamed)
    assert blamed == [hungry]
    for seed, number in enumerate(others):
        alone = generate([0, seed], target=TARGET, draft=None, max_tokens=8, seed=seed)
        assert engine.generation(number).token_ids == alone.token_ids


def slots_of(model, count):
    cache = model.new_cache(capacity=count)
    return cache.keys.nbytes + cache.values.nbytes


def test_who_runs_and_who_waits():
    engine = Engine(TARGET, max_running=2)
    numbers = tuple(engine.add([0], draft=None, max_tokens=3) for _ in range(3))
    assert (engine.waiting, engine.running) == (numbers, ())
    engine.step()
    assert (engine.waiting, engine.running) == (numbers[2:], numbers[:2])
    assert 0 < engine.occupancy.num_held <= engine.occupancy.num_slots
