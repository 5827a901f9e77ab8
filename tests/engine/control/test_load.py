"""γ by the load: it is the best one for the batch, fades out as the batch grows, and returns as it shrinks."""

from __future__ import annotations

import sys
from unittest import mock

import numpy as np
import pytest

from minispec import generate
from minispec.engine.batching import Engine
from minispec.engine.batching import batch as batch_module
from minispec.engine.control.gain import Gain
from minispec.engine.control.load import Load, LoadGamma, RowTimes
from minispec.engine.model.pages import OutOfPagesError
from minispec.engine.model.toy import TableModel
from minispec.engine.records import Step, Verdict
from minispec.errors import OptionError
from minispec.theory import best_gamma, tau

from .machine import decode_on, draft_s, target_s


def verify_cost(gamma):
    return target_s(gamma + 1) / target_s(1)


def step(drafted, accepted):
    verdict = Verdict(num_accepted=accepted, next_token=0, source="recovered", accept_probs=())
    return Step(
        index=0, position=1, draft_tokens=(0,) * drafted, verdict=verdict, tokens=(0,), sources=("recovered",),
        draft_s=0.0, target_s=0.0, step_s=0.0, finish=None, details=(),
    )  # fmt: skip


def loaded(alphas, num_plain=0, draft_s=draft_s):
    """Policies whose requests have been seen to accept that often, on a machine whose every cost is known."""
    load = Load()
    for rows in range(1, 400):
        load.target.add(rows, target_s(rows))
        load.draft.add(rows, draft_s(rows))
    policies = [LoadGamma(load) for _ in alphas]
    for policy, alpha in zip(policies, alphas, strict=True):
        for i in range(1000):
            policy.observe(step(1, int((i * alpha) % 1.0 + alpha >= 1.0)))
    load.begin_step(policies, num_plain)
    return load, policies


def test_alone_it_is_the_formulas_gamma():
    for alpha in (0.3, 0.6, 0.8, 0.9):
        _, (policy,) = loaded([alpha])
        found = best_gamma(policy.acceptance, draft_s(1) / target_s(1), verify_cost, max_gamma=8)
        assert abs(policy.gamma() - found.gamma) <= 1
        rate = [tau(policy.acceptance, g) / (target_s(g + 1) + g * draft_s(1)) for g in range(9)]
        assert rate[policy.gamma()] >= (0.98 * max(rate) if max(rate) > 1.1 * rate[0] else rate[0])


def test_it_fades_out_as_the_batch_grows_and_returns_as_it_shrinks():
    found = [loaded([0.7] * size)[1][0].gamma() for size in (1, 2, 4, 8, 16, 32, 64, 8, 1)]
    assert found[:7] == sorted(found[:7], reverse=True)
    assert found[0] >= 3
    assert found[6] == 0
    assert found[7] == found[3]
    assert found[8] == found[0]


def test_bad_drafts_stop_first():
    _, policies = loaded([0.9] * 4 + [0.2] * 4)
    lengths = [policy.gamma() for policy in policies]
    assert min(lengths[:4]) > max(lengths[4:])
    assert lengths[4:] == [0] * 4


def test_the_choice_for_all_is_the_best_there_is():
    """With a draft whose rows cost: those of the drafts that were accepted whole, which it reads late, decide here."""

    def by_row(rows):
        return 0.05 + 0.03 * rows

    load, policies = loaded([0.8, 0.6, 0.75, 0.9], num_plain=2, draft_s=by_row)
    known = [policy.acceptance for policy in policies]

    def find_best(drafting_s):
        seconds = [target_s(2 + 4 * (g + 1)) + (drafting_s(g) if g else 0.0) for g in range(9)]
        return int(np.argmax([(2 + sum(tau(a, g) for a in known)) / seconds[g] for g in range(9)]))

    expected = find_best(lambda g: by_row(4 + sum(a**g for a in known)) + (g - 1) * by_row(4))
    assert load.plan()[0] == expected
    assert find_best(lambda g: g * by_row(4)) != expected


def test_times_are_interpolated_and_never_fall_with_more_rows():
    times = RowTimes()
    assert times.at(1) == 1.0
    assert not times.is_known
    times.add(4, 2.0)
    assert times.at(4) == 2.0
    assert times.at(8) == pytest.approx(2.0 * 1.35 / 1.15), "a row costs as much as it does alone, not a share of all"
    times.add(8, 6.0)
    assert times.at(6) == pytest.approx(4.0)
    assert times.at(10) == pytest.approx(8.0)
    times.add(8, 7.0)
    assert times.at(8) == 6.0, "none of two is too fast by chance"
    times.add(8, 1.0)
    assert times.at(8) == pytest.approx(5.0)
    times.add(9, 0.1)  # noise: fewer rows that took longer
    assert times.at(4) == times.at(8) == times.at(9) == 0.1
    assert times.at(12) > times.at(9), "or a crowd would draft as far as it can"


def test_what_was_measured_once_is_tried_again_where_that_is_cheap():
    """Something else ran while 8 rows were fed: drafts would never be tried, for all the text."""
    times = RowTimes()

    def add_plain(count):
        for _ in range(count):
            times.add(1, 1.0)

    add_plain(2)
    times.add(8, 50.0)
    times.add(30, 31.0)
    add_plain(15)
    assert times.at(4) > 10.0
    add_plain(1)
    assert times.at(4) < 5.0, "between 1 row and 30"
    times.add(8, 1.5)
    add_plain(100)
    assert times.at(8) == 1.5
    assert times.at(30) == 31.0, "a crowd's rows are too dear to be tried again"


def test_drafts_that_promise_little_are_left_out_and_do_not_come_and_go():
    """α = 0.9 and rows for nothing; a draft token costs so much that the best length gains 7 %, then 17 %."""
    load, (policy,) = loaded([0.9])
    for cost, wanted in ((0.77, False), (0.66, True), (0.77, True), (0.95, False)):
        load.target, load.draft = RowTimes(), RowTimes()
        for rows in range(1, 20):
            load.target.add(rows, 1.0), load.draft.add(rows, cost)
        lengths = []
        for _ in range(4):  # once drafts did not pay, the same requests rest for three steps
            load.begin_step([policy], 0)
            lengths.append(policy.gamma())
        assert (lengths[-1] > 0) is wanted, cost


def test_an_engine_speculates_while_it_pays():
    """On a simulated machine whose forwards cost what their rows cost: few requests speculate, a crowd does not."""
    target, draft = TableModel(8, 64, seed=1, concentration=0.05), TableModel(8, 64, seed=1, concentration=0.05)

    def run(size):
        options = {"draft": draft, "gamma": "load", "max_tokens": 40}
        figures = [each.metrics for each in decode_on(target, [([0], options | {"seed": i}) for i in range(size)])[1]]
        return [each.num_draft_tokens / each.num_steps for each in figures]

    assert np.mean(run(2)) > 2.0
    assert np.mean(run(96)) < 0.5


def test_who_has_just_got_its_first_token_counts_in_the_choice():
    """All begin together: already the first drafts are as long as the batch lets them be."""
    lengths = {}
    for size in (2, 96):
        target, draft = TableModel(8, 64, seed=1), TableModel(8, 64, seed=2)
        engine = Engine(target, max_running=size)
        for rows in range(1, 400):
            engine.load.target.add(rows, target_s(rows))
            engine.load.draft.add(rows, draft_s(rows))
        with mock.patch.object(RowTimes, "add"):
            for seed in range(size):
                engine.add([0], draft=draft, gamma="load", max_tokens=3, seed=seed)
            lengths[size] = [len(each.steps[1].draft_tokens) for each in engine.run()]
    assert set(lengths[2]) == {1}, "all the room there is"
    assert set(lengths[96]) == {0}


def test_a_forward_that_nobody_was_left_for_has_no_time():
    """The only one who asks is the youngest, and makes room for those who wait for the target."""
    target, draft = TableModel(8, 64, seed=1), TableModel(8, 64, seed=2)
    engine, refused = Engine(target), []
    for rows in range(1, 99):
        engine.load.target.add(rows, 1.0)

    def answer(asks):
        if not refused and len(asks) == 1 and asks[0].session.model is not engine.target:
            refused.append(asks[0])
            raise OutOfPagesError
        return right(asks)

    right = batch_module.answer_together
    noting = mock.patch.object(RowTimes, "add", autospec=True, side_effect=RowTimes.add)
    with mock.patch.object(batch_module, "answer_together", answer), noting as noted:
        engine.add([0], draft=None, max_tokens=6)
        engine.add([0, 1], draft=draft, gamma="load", max_tokens=6)
        assert [len(each.token_ids) for each in engine.run()] == [6, 6]
    assert refused
    assert engine.num_preemptions == 1
    assert all(rows > 0 for _, rows, _ in (call.args for call in noted.call_args_list))


def test_others_are_asked_at_once_while_the_same_rest():
    load, (bad, good) = loaded([0.02, 0.95])
    for _ in range(2):  # once it has been asked, and at rest
        load.begin_step([bad], 0)
        assert bad.gamma() == 0
    load.begin_step([good], 0)
    assert good.gamma() > 0


def test_who_asks_in_vain_asks_ever_less_often_until_somebody_comes():
    load, policies = loaded([0.02])
    load.target.at = counted = mock.Mock(wraps=load.target.at)

    def count_asking_steps():
        asked = 0
        for _ in range(96):
            counted.reset_mock()
            load.begin_step(policies, 0)
            assert policies[0].gamma() == 0
            asked += counted.called
        return asked

    assert 4 <= count_asking_steps() <= 9
    assert count_asking_steps() <= 5
    load.begin_step(policies, 1)
    policies[0].gamma()
    load.begin_step(policies, 0)
    counted.reset_mock()
    policies[0].gamma()
    assert counted.called


def test_it_is_no_promise_and_says_so():
    target = TableModel(5, 32, seed=1)
    engine = Engine(target)
    engine.add([0], draft=TableModel(5, 32, seed=2), gamma="load", max_tokens=5)
    (made,) = engine.run()
    assert not made.reproducible
    assert made.options["gamma"] == "load"
    with pytest.raises(OptionError, match="gamma is 'load'"):
        generate([0], target=target, draft=None, gamma="load")


def test_plain_steps_are_measured_while_drafts_go_on():
    """Or a plain step that something else slowed down would speak for drafts for ever."""
    load, (policy,) = loaded([0.9])
    load.target.add(1, 99.0)
    lengths = []
    for _ in range(100):
        load.begin_step([policy], 0)
        lengths.append(policy.gamma())
        if not lengths[-1]:
            load.target.add(1, 1.0)
    assert lengths.count(0) >= 3
    assert lengths.count(0) < 10


def test_deciding_not_to_draft_costs_little():
    """Counted in calls of our own, by token: the clock of a busy machine would tell nothing."""
    target, draft = TableModel(6, 64, seed=1), TableModel(6, 64, seed=2)

    def count(**options):
        engine, calls = Engine(target, max_running=16, clock=lambda: 0.0), []
        for rows in range(1, 200):
            engine.load.target.add(rows, float(rows)), engine.load.draft.add(rows, float(rows))
        for seed in range(16):
            engine.add([0], seed=seed, max_tokens=30, **options)
        engine.load.target.add = engine.load.draft.add = lambda rows, seconds: None
        engine.step(), engine.step()
        sys.setprofile(lambda frame, event, argument: calls.append(event) if event == "call" else None)
        for _ in range(12):
            engine.step()
        sys.setprofile(None)
        assert sum(each.metrics.num_draft_tokens for each in engine.run()) == 0
        return len(calls)

    assert count(draft=draft) < 1.5 * count(draft=None)


def test_a_step_counts_its_own_tokens_and_times_its_own_rows():
    """Also where nobody has taken what was told: an interruption may leave it."""
    target, draft = TableModel(8, 64, seed=1), TableModel(8, 64, seed=2)
    engine = Engine(target)
    noting = mock.patch.object(RowTimes, "add", autospec=True, side_effect=RowTimes.add)
    with mock.patch.object(Load, "end_step") as ended, noting as noted:
        engine.add([0], draft=None, max_tokens=6)
        engine.add([0, 1], draft=draft, gamma=2, max_tokens=6)
        while engine.running or engine.waiting:
            engine._batch.step()
    assert [call.args[0] for call in ended.call_args_list] == [0, 0, 2, 2, 2, 2]  # the draft model reads in the second
    rows = {engine.load.target: 0, engine.load.draft: 0}
    for times, count, _ in (call.args for call in noted.call_args_list):
        rows[times] += count
    # The first forward of each is no measure: three tokens of two prompts, and what the draft model reads of one.
    assert rows == {engine.load.target: engine.num_rows - 3, engine.load.draft: 9 - 2}


def test_what_drafts_have_not_read_is_that_of_all_requests():
    """Each draft model reads its own text before it drafts."""
    engine, unread = Engine(TableModel(8, 64, seed=1)), []
    begin = Load.begin_step

    def note(self, policies, num_plain, count_unread):
        unread.append(count_unread())
        begin(self, policies, num_plain, count_unread)

    with mock.patch.object(Load, "begin_step", note):
        for length in (3, 5):
            engine.add([0] * length, draft=TableModel(8, 64, seed=2), gamma=2, max_tokens=4)
        engine.run()
    assert max(unread) == 3 + 5


def test_a_scrape_may_read_while_the_engine_takes_in_a_step():
    """A server's metrics are read by another thread than that which steps."""
    gain = Gain()
    gain.note(1, 3, 2.0, has_drafted=True)

    def plain_s(rows):
        gain.note(rows + 1, 4, 2.0, has_drafted=True)
        return 1.0

    assert gain.speedup(plain_s) > 0.0
