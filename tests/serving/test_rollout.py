"""A canary: who is in it, when it loses, and that a shadow sees a wrong text."""

from __future__ import annotations

import asyncio
import io
import json
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from minispec.errors import InputError, OptionError, OutputError
from minispec.serving.choices import Choice
from minispec.serving.rollout import FIRST_LOOK, Observation, Rollout, compare, judge, read_log
from minispec.serving.shadow import Shadow
from tests.serving.running import running


def observe(arm, tpot_s=0.01, *, logprob=-2.0, tokens=20, finish="length"):
    return Observation(arm, tokens, 10, 40, 8, 0.05, tpot_s, finish, logprob)


def feed(rollout, generator, count, factor=1.0, shift=0.0):
    for _ in range(count):
        for arm in ("baseline", "canary"):
            slow, other = (factor, shift) if arm == "canary" else (1.0, 0.0)
            tpot_s = 0.01 * slow * np.exp(generator.normal(0, 0.5))
            rollout.observe(observe(arm, tpot_s, logprob=generator.normal(-2, 0.4) + other))


def test_no_forward_makes_less_than_a_token():
    """Two requests that differ much: by themselves they would leave 0 possible."""
    found = compare([observe("baseline", tokens=11), observe("baseline", tokens=61)]).arms["baseline"]
    assert found.tokens_per_forward.low == 1.0
    assert found.tokens_per_forward.value == 3.5, "the first token of each is the prefill's"


def test_shares_and_users():
    rollout = Rollout(0.25)
    arms = [rollout.assign(None) for _ in range(4000)]
    assert 880 < arms.count("canary") < 1120
    arms = [rollout.assign(f"user {i}") for i in range(4000)]
    assert arms == [rollout.assign(f"user {i}") for i in range(4000)]  # each stays where it is
    assert 880 < arms.count("canary") < 1120
    assert {Rollout(0.0).assign(None) for _ in range(100)} == {"baseline"}
    assert {Rollout(1.0).assign(None) for _ in range(100)} == {"canary"}
    with pytest.raises(OptionError):
        Rollout(1.1)


def test_a_slow_canary_goes_back_and_a_fast_one_stays():
    generator = np.random.default_rng(0)
    slow, fast = Rollout(0.5), Rollout(0.5)
    feed(slow, generator, 130, factor=1.5)
    feed(fast, generator, 130, factor=0.7)
    assert slow.verdict is not None
    assert slow.verdict.startswith("slower")
    assert slow.share == 0.0
    assert {slow.assign(None) for _ in range(100)} == {"baseline"}
    assert fast.verdict is None
    assert fast.share == 0.5
    assert fast.compare().tpot_ratio.value == pytest.approx(0.7, rel=0.15)


def test_it_looks_as_long_as_it_runs(monkeypatch):
    """Also when it has seen more than it remembers."""
    monkeypatch.setattr("minispec.serving.rollout.KEPT", 40)
    rollout = Rollout(0.5)
    feed(rollout, np.random.default_rng(0), 4 * FIRST_LOOK - 1, factor=0.7)
    assert rollout.verdict is None
    before = rollout.compare()
    assert rollout.compare() is before
    feed(rollout, np.random.default_rng(0), 4 * FIRST_LOOK + 1, factor=3.0)
    assert rollout.verdict is not None
    assert rollout.compare() != before


def test_other_texts_end_it_only_where_the_law_should_be_the_same():
    for lossless in (True, False):
        rollout = Rollout(0.5, lossless=lossless)
        feed(rollout, np.random.default_rng(1), 130, factor=0.8, shift=0.5)
        assert (rollout.verdict is not None) == lossless
    both = [observe(arm, logprob=mean - i / 99) for arm, mean in (("baseline", -2), ("canary", -1)) for i in range(50)]
    assert "other texts" in str(judge(compare(both), lossless=True))


def test_it_looks_rarely_and_seldom_errs():
    """Of rollouts without a difference, at most 5 of 100 are ended, however long they run."""
    generator = np.random.default_rng(2)
    ended = 0
    for _ in range(200):
        rollout = Rollout(0.5)
        feed(rollout, generator, FIRST_LOOK * 4)
        ended += rollout.verdict is not None
    assert ended <= 20  # Bin(200, 0.05) exceeds 20 once in a thousand


def test_nothing_is_decided_before_the_first_look():
    rollout = Rollout(0.5)
    feed(rollout, np.random.default_rng(0), FIRST_LOOK - 1, factor=10.0)
    assert rollout.verdict is None
    feed(rollout, np.random.default_rng(0), 1, factor=10.0)
    assert rollout.verdict is not None


def test_the_log_is_read_back(tmp_path):
    log = io.StringIO()
    rollout = Rollout(0.5, log=log)
    feed(rollout, np.random.default_rng(0), 40, factor=3.0)
    path = tmp_path / "log"
    path.write_text(log.getvalue() + '{"arm": "cana', encoding="utf-8")  # a line that is being written
    seen, verdict = read_log(path)
    assert len(seen) == 80
    assert verdict == rollout.verdict
    assert compare(seen) == rollout.compare()
    for line in (
        '{"arm": "third"}',
        "{",
        "5",
        '{"arm": "canary", "num_tokens": "x"}',
        json.dumps({"verdict": 1, "x": 2}),
    ):
        for rest in (log.getvalue(), ""):
            path.write_text(line + "\n" + rest, encoding="utf-8")
            with pytest.raises(InputError, match="line 1"):
                read_log(path)
    path.write_text("no line of a log begins so", encoding="utf-8")
    with pytest.raises(InputError, match="line 1"):
        read_log(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_log(tmp_path / "none")


def test_the_report(run_here, tmp_path):
    log = io.StringIO()
    feed(Rollout(0.5, log=log), np.random.default_rng(0), 40, factor=3.0)
    (tmp_path / "log").write_text(log.getvalue(), encoding="utf-8")
    done = run_here("serve", "canary", "log", COLUMNS="80")
    assert done.returncode == 0, done.stderr
    for word in ("ms per token", "requests", "40", "the server went back to the baseline: slower"):
        assert word in done.stdout
    assert "…" not in done.stdout, "80 columns, as a pipe has, cut no number off"
    assert "P99 73.4" in done.stdout
    told = json.loads(run_here("serve", "canary", "log", "--json").stdout)
    assert told["tpot_ratio"][0] == pytest.approx(3.0, rel=0.3)
    (tmp_path / "log").write_text("", encoding="utf-8")
    assert run_here("serve", "canary", "log").returncode == 2


@pytest.mark.parametrize(
    ("count", "factor", "word"),
    [
        (1, 1.0, "undecided: too few requests"),
        (10, 1.0, "and the interval contains 1"),
        (60, 0.5, "as it stands, the canary does not lose: it takes 0.4"),
        (10, 4.0, "as it stands, the canary loses: slower"),
    ],
)
def test_the_report_is_undecided_where_the_interval_contains_1(run_here, tmp_path, count, factor, word):
    log = io.StringIO()
    feed(Rollout(0.5, log=log), np.random.default_rng(0), count, factor=factor)
    (tmp_path / "log").write_text(log.getvalue(), encoding="utf-8")
    assert word in " ".join(run_here("serve", "canary", "log").stdout.split())


def test_a_server_assigns_counts_and_reports(target, draft):
    log = io.StringIO()
    with running(target, (draft,), canary=0.5, canary_log=lambda: log) as server:
        for i in range(20):
            choice = server.complete(user=f"user {i}", max_tokens=5)["choices"][0]["minispec"]
            assert choice["arm"] == server.service.rollout.assign(f"user {i}")
            assert choice["draft"] == {"canary": "tiny-draft", "baseline": None}[choice["arm"]]
        assert server.complete(speculative={"draft": "tiny-draft"})["choices"][0]["minispec"]["arm"] is None
        lines = [json.loads(line) for line in log.getvalue().splitlines()]
        assert len(lines) == 20
        assert {line["arm"] for line in lines} == {"baseline", "canary"}
        assert all(line["mean_logprob"] < 0 and line["tpot_s"] > 0 for line in lines)
        metrics = server.client.get("/metrics").text
        assert 'minispec:canary_share{model_name="tiny-target"} 0.5' in metrics
        assert 'minispec:canary_tpot_ratio{bound="value"' in metrics
        for arm in ("baseline", "canary"):
            assert f'minispec:time_per_output_token_seconds_count{{arm="{arm}"' in metrics
        server.service.rollout.end("enough")
        assert server.complete(user="user 0")["choices"][0]["minispec"]["arm"] == "baseline"


def test_a_log_that_cannot_be_written_costs_no_reader_his_text(target, draft, caplog):
    class Full:
        def write(self, text):
            raise OutputError("rollout.jsonl cannot be written (No space left on device). Make room")

    with running(target, (draft,), canary=0.5, canary_log=Full) as server:
        for i in range(3):
            server.complete(user=f"user {i}", max_tokens=5)
        assert sum(figures.num_requests for figures in server.service.rollout.compare().arms.values()) == 3
    assert [record.message for record in caplog.records] == [
        "the trial goes on without its log: rollout.jsonl cannot be written (No space left on device). Make room"
    ]


def test_a_fault_in_counting_costs_no_reader_his_text(target, draft, monkeypatch, caplog):
    with running(target, (draft,), canary=0.5) as server:
        monkeypatch.delattr(server.service.rollout, "_seen")
        beside = threading.Thread(target=server.complete, kwargs={"speculative": False, "max_tokens": 200})
        beside.start()
        server.complete(max_tokens=5)
        beside.join(20)
        assert not beside.is_alive()
    assert [record.message for record in caplog.records] == ["what was told of a request could not be counted"]


def wait_for_shadow(server, outcome, count):
    line = f'minispec:shadow_checks_total{{model_name="tiny-target",result="{outcome}"}} {count}.0'
    for _ in range(500):
        if line in server.client.get("/metrics").text:
            return
    raise AssertionError(server.client.get("/metrics").text)


def test_a_shadow_sees_that_greedy_texts_are_equal_and_when_one_is_not(target, draft, monkeypatch):
    with running(target, (draft,), shadow=1.0, canary=1.0) as server:
        for i in range(5):
            server.complete(prompt=[5 + i], temperature=0.0, max_tokens=30)
        wait_for_shadow(server, "equal", 5)
        server.complete(temperature=1.0)  # not greedy, so nothing to compare
        server.complete(temperature=0.0, speculative=False)  # plain already
        wait_for_shadow(server, "equal", 5)
        assert server.service.rollout.verdict is None
        server.wait_until_idle()

        from minispec.serving import shadow

        monkeypatch.setattr(shadow, "replace", lambda choice, **changed: choice.__class__(
            choice.index, [7, 7], None, None, {**changed["options"]}))  # a plain run of another prompt  # fmt: skip
        server.complete(temperature=0.0, max_tokens=30)
        wait_for_shadow(server, "different", 1)
        assert server.service.rollout.verdict == "a greedy text was not that of plain decoding"
        assert server.service.rollout.share == 0.0


def test_a_shadow_makes_room_for_whoever_comes(target, draft, monkeypatch):
    with running(target, (draft,), shadow=1.0, max_running=1) as server:
        step = server.engine.step

        def step_slowly(watch):
            time.sleep(0.02)
            return step(watch)

        monkeypatch.setattr(server.engine, "step", step_slowly)
        server.complete(temperature=0.0, max_tokens=100)
        server.complete(max_tokens=1)  # within the two seconds that the shadow takes, alone in the only place
        wait_for_shadow(server, "skipped", 1)
        monkeypatch.setattr(server.engine, "step", step)
        server.complete(temperature=0.0, max_tokens=100)
        wait_for_shadow(server, "equal", 1)
        server.wait_until_idle()


def test_a_shadow_that_has_not_begun_makes_room_too():
    """A request may come before the loop has begun what it was asked to."""
    added, cancelled, told = [], [], []

    async def add(ticket):
        added.append(ticket)

    async def see():
        shadow = Shadow(1.0, SimpleNamespace(add=add, cancel=cancelled.append), told.append)
        choice = Choice(0, "the", "ngram", "ngram", {"verify": "gumbel", "seed": 0})
        for room in (0, 1):
            shadow.consider(choice, SimpleNamespace(guarantee="bit-exact"), has_room=True)
            shadow.make_room(room)
            await asyncio.sleep(0)
        assert (told, len(added), len(cancelled), shadow.num_running) == (["skipped"], 1, 1, 1)
        shadow.make_room(1)
        await asyncio.sleep(0.01)
        assert (told, shadow.num_running) == (["skipped"] * 2, 0)

    asyncio.run(see())
