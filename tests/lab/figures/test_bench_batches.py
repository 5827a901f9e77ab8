"""The benchmark of batches: on a clock that only forwards move, every figure is known beforehand."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from minispec.cli.main import cli
from minispec.engine.batching.batch import Batch
from minispec.engine.loading import load_model
from minispec.errors import InvariantError, MinispecError, OptionError
from minispec.lab.bench import batches
from minispec.lab.bench.batches import (
    SEARCH_ROUNDS,
    BatchBenchmark,
    BatchDraft,
    BatchPlan,
    Forecast,
    Goodput,
    compare,
    find_break_even,
    forward_timers,
    make_prompts,
    measure_pages,
    run_batches,
    time_batch,
)
from minispec.lab.bench.together import decode_together
from minispec.lab.prompts import bundled_prompts
from minispec.lab.roofline.counts import Storage
from minispec.lab.roofline.machine import Machine
from minispec.lab.roofline.predict import over_batches
from minispec.lab.roofline.shapes import Shape
from minispec.lab.viz.plots.bench import batches_figure
from tests.models import random_gpt2
from tests.tiny import write_model

MACHINE = Machine("m", [(1 << 20, 200e9), (1 << 26, 50e9)], {"float32": 100e9})
PLAN = BatchPlan((1, 2, 4), context=20, num_tokens=9, gammas=(1,), repeats=5)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("models")
    target = write_model(folder / "target", seed=1, n_positions=256, scale=0.3)
    return str(target), str(write_model(folder / "draft", seed=2, n_positions=256, n_embd=8, n_layer=1, scale=0.3))


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Told:
    """A model whose forwards take the seconds told for their number of rows, and for each row of logits."""

    def __init__(self, model, clock: Clock, seconds: dict[int, float], otherwise: float = 1.0, head=0.0) -> None:
        self._model, self._told = model, (clock, seconds, otherwise, head)

    def __getattr__(self, name):
        return getattr(self._model, name)

    def with_pages(self, *sizes):
        return Told(self._model.with_pages(*sizes), *self._told)

    def run(self, feed, cache):
        clock, seconds, otherwise, head = self._told
        clock.now += seconds.get(len(feed.tokens), otherwise) + head * feed.num_logits
        return self._model.run(feed, cache)


ROW_SECONDS = {1: 1.0, 2: 1.5, 4: 2.5, 8: 7.0}


@pytest.fixture
def told(pair: tuple[str, str]):
    """A target whose forwards take ``ROW_SECONDS``, and itself as a draft that takes 0.1 s: everything is accepted."""
    clock, model = Clock(), load_model(pair[0])
    return Told(model, clock, ROW_SECONDS), Told(model, clock, {}, 0.1), clock


# Figures


def test_every_figure_follows_from_the_seconds_of_the_forwards(told) -> None:
    target, draft, clock = told
    found = run_batches(target, draft, MACHINE, bundled_prompts(), PLAN, clock=clock)
    costs = {(each.batch, each.rows): each.cost for each in found.forwards}
    assert costs == pytest.approx({(1, 1): 1.0, (1, 2): 1.5, (2, 1): 1.5, (2, 2): 2.5, (4, 1): 2.5, (4, 2): 7.0})
    assert [each.step_cost for each in found.forwards] == pytest.approx([1, 1.5, 1, 2.5 / 1.5, 1, 2.8])
    assert [each.paged_ratio for each in found.forwards if each.rows == 1] == pytest.approx([1.0, 1.0, 1.0])
    assert [each.batch for each in found.drafts] == [1, 2, 4]
    assert [dataclasses.astuple(each)[1:] for each in found.drafts] == [pytest.approx((0.1, 0.1, 0.1))] * 3
    # A step of B texts: B tokens after one row each; with gamma = 1 and all accepted 2 B tokens after two rows each.
    assert [each.plain for each in found.goodput] == pytest.approx([1.0, 2 / 1.5, 4 / 2.5])
    assert [each.speculative for each in found.goodput] == pytest.approx([2 / 1.6, 4 / 2.6, 8 / 7.1])
    speedups = [2 / 1.6, 2 * 1.5 / 2.6, 2 * 2.5 / 7.1]
    assert [each.speedup for each in found.goodput] == pytest.approx(speedups)
    assert [(each.tau, each.alpha) for each in found.goodput] == [(2.0, 1.0)] * 3
    # All texts in step and all drafts accepted: the theory with the measured costs is exact.
    assert [each.from_costs for each in found.forecasts] == pytest.approx(speedups)
    share = (speedups[1] - 1) / (speedups[1] - speedups[2])
    assert found.break_even["measured"].batch == pytest.approx(2 ** (1 + share))
    assert found.break_even["measured"].side == "inside"
    for each in found.goodput:
        assert each.plain_overhead_s == pytest.approx(0.0, abs=1e-9)
        assert each.differing == ()


def test_a_draft_that_was_accepted_whole_costs_the_next_one_a_row_of_each_text(told) -> None:
    """Then the draft's cache lacks two tokens; the first forward feeds both and asks for the logits of one."""
    target, draft, clock = told
    by_rows = Told(draft._model, clock, {1: 0.1, 2: 0.15, 4: 0.25, 8: 0.45}, head=0.01)
    found = run_batches(target, by_rows, MACHINE, bundled_prompts(), PLAN, clock=clock)
    assert [(each.first_s, each.catch_up_s) for each in found.drafts] == [
        pytest.approx(pair) for pair in ((0.11, 0.16), (0.17, 0.27), (0.29, 0.49))
    ]
    speedups = [2 * 1.0 / 1.66, 2 * 1.5 / 2.77, 2 * 2.5 / 7.49]
    assert [each.speedup for each in found.goodput] == pytest.approx(speedups)
    assert [each.from_costs for each in found.forecasts] == pytest.approx(speedups)


def test_drafts_after_the_first_of_a_step_find_the_draft_where_it_was_left() -> None:
    """A step of three drafts whose predecessor is accepted whole one time in eight."""
    assert BatchDraft(4, 2.0, 10.0, 1.0).drafting_s(3, 0.5) == 2.0 + 8.0 / 8 + 2 * 1.0


def test_a_draft_is_timed_behind_its_target(told) -> None:
    """As in a step: the target's weights have driven the draft's from the caches, and are themselves not counted."""
    target, draft, clock = told
    timers = forward_timers(target, draft, PLAN, clock=clock)[2]
    for name, of_target in (("first", 4), ("catch up", 4), ("next", 0)):  # one to warm up, then three
        started = clock.now
        assert timers[name]() == pytest.approx(0.1)
        assert clock.now - started == pytest.approx(4 * 0.1 + of_target * ROW_SECONDS[2])


def test_in_each_round_everything_takes_its_turn(told) -> None:
    """The search comes before; then every other round has the opposite order."""
    target, draft, clock = told
    plan = dataclasses.replace(PLAN, gammas=(1, 2), num_tokens=10)
    prompts, order = make_prompts(target, bundled_prompts(), 1, 5), list[str | int]()

    def run(gamma: int):
        order.append(gamma)
        return decode_together(target, draft, prompts, gamma, plan.num_tokens, clock=clock)

    def forward(name: str):
        return lambda: order.append(name) or 1.0

    found = time_batch(1, run, {"a": forward("a"), "b": forward("b")}, plan)
    before = 2 + len(plan.gammas) * SEARCH_ROUNDS
    assert "a" not in order[:before]
    one_round = [0, found.gamma, "a", "b"]
    assert order[before:] == [*one_round, *one_round[::-1], *one_round, *one_round[::-1], *one_round]
    assert len(found.plain) == len(found.speculative) == len(found.seconds["a"]) == plan.repeats


def test_rounds_are_compared_one_by_one() -> None:
    """A machine that slows down between rounds changes no ratio; ratios of medians would be 1.5 and 1."""

    def decoded(speed: float) -> SimpleNamespace:
        return SimpleNamespace(tokens_per_s=speed, overhead_s=0.0, num_tokens=2, num_steps=1, generations=[])

    one, two, alone = [1.0, 3.0, 2.0], [3.0, 2.0, 4.0], [1.0, 4.0, 2.0]
    seconds = {batches.row_name(1): one, batches.row_name(2): two, batches.ALONE: alone, "contiguous": one}
    plain, fast = map(decoded, [4.0, 1.0, 2.0]), map(decoded, [2.0, 3.0, 1.0])
    rounds = batches.Rounds(2, 1, {1: 1.0}, seconds, [*plain], [*fast])  # type: ignore[arg-type]
    found = batches.describe_forwards(rounds, BatchPlan(gammas=(1,)))
    assert [each.cost for each in found] == [1.0, 2.0]
    assert [each.step_cost for each in found] == [1.0, 2.0]
    assert batches.compare(rounds, []).speedup == 0.5


def test_the_forecast_takes_the_best_length(told) -> None:
    """Three rows of a text take as long as two here, and four take long: a draft of two is the best."""
    target, draft, clock = told
    by_rows = Told(target._model, clock, {1: 1.0, 2: 1.5, 3: 1.5, 4: 9.0})
    plan = dataclasses.replace(PLAN, batches=(1,), gammas=(1, 2, 3), num_tokens=12)
    (said,) = run_batches(by_rows, draft, MACHINE, bundled_prompts(), plan, clock=clock).forecasts
    assert said.from_costs == pytest.approx(3 / 1.7)


@pytest.fixture
def slow_engine(told, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that takes 0.25 s for every answer, beside the forward."""
    answer, clock = Batch._answer, told[2]

    def slowly(engine, *arguments):
        clock.now += 0.25
        return answer(engine, *arguments)

    monkeypatch.setattr(Batch, "_answer", slowly)


@pytest.mark.usefixtures("slow_engine")
def test_the_forecast_counts_the_engines_own_work(told) -> None:
    target, draft, clock = told
    found = run_batches(target, draft, MACHINE, bundled_prompts(), PLAN, clock=clock)
    speedups = [2 * 1.25 / 2.1, 2 * 1.75 / 3.1, 2 * 2.75 / 7.6]
    assert [each.speedup for each in found.goodput] == pytest.approx(speedups)
    assert [each.from_costs for each in found.forecasts] == pytest.approx(speedups)


@pytest.mark.usefixtures("slow_engine")
def test_overhead_is_what_passes_outside_forwards(told) -> None:
    target, draft, clock = told
    prompts = make_prompts(target, bundled_prompts(), 2, 5)
    plain, speculative = (
        decode_together(target, draft, prompts, gamma, PLAN.num_tokens, clock=clock) for gamma in (0, 1)
    )
    assert plain.overhead_s == pytest.approx(0.25 / 2)  # one answer for two tokens
    assert speculative.overhead_s == pytest.approx(2 * 0.25 / 4)  # one for the drafts, one for the target
    assert plain.tokens_per_s == pytest.approx(2 / 1.75)


def test_the_clock_stops_when_the_first_text_ends(told) -> None:
    """The first token comes with the prompts, and the first step with drafts feeds them to the draft: not timed."""
    target, draft, clock = told
    prompts = make_prompts(target, bundled_prompts(), 2, 5)
    assert decode_together(target, draft, prompts, 0, 9, clock=clock).num_tokens == 2 * 8
    done = decode_together(target, draft, prompts, 1, 9, clock=clock)
    assert (done.num_tokens, done.num_steps) == (12, 6)
    assert [len(each.token_ids) for each in done.generations] == [9, 9]


@pytest.mark.parametrize("length", [65, 130])
def test_whole_chunks_of_prompts_are_read_by_all_before_the_clock_starts(told, length: int) -> None:
    """The target's last chunk has a row more than the others, and all texts feed theirs in one step."""
    target, draft, clock = told
    prompts = make_prompts(target, bundled_prompts(), 2, length)
    plain, done = (decode_together(target, draft, prompts, gamma, 9, clock=clock) for gamma in (0, 1))
    assert (plain.num_tokens, plain.num_steps, plain.seconds) == (16, 16, pytest.approx(8 * 1.5))
    assert (done.num_tokens, done.num_steps, done.seconds) == (12, 6, pytest.approx(3 * (0.1 + 2.5)))


def test_only_while_all_texts_are_decoded_is_timed(pair: tuple[str, str], told) -> None:
    """A draft that is sometimes wrong: texts end after different numbers of steps; the first stops the clock."""
    target, _, clock = told
    prompts = make_prompts(target, bundled_prompts(), 8, 8)
    done = decode_together(target, load_model(pair[0], dtype="int8"), prompts, 2, 25, clock=clock)
    lengths = [[len(step.tokens) for step in each.steps[1:]] for each in done.generations]
    first = min(map(len, lengths))
    assert first < max(map(len, lengths))
    assert done.num_tokens == sum(sum(each[1:first]) for each in lengths)
    assert done.num_steps == 8 * (first - 1)


def test_no_token_ends_a_text(pair: tuple[str, str]) -> None:
    model = load_model(pair[0])
    config = dataclasses.replace(model.config, eos_token_id=frozenset(range(model.vocab_size)))
    model = dataclasses.replace(model, config=config)
    prompts = make_prompts(model, bundled_prompts(), 2, 5)
    for gamma in (0, 1):
        done = decode_together(model, model, prompts, gamma, 8)
        assert [len(each.token_ids) for each in done.generations] == [8, 8]


def test_the_best_gamma_is_the_fastest_of_the_search(told) -> None:
    """Three rows of one text take as long as two here, so that longer drafts win."""
    target, draft, clock = told
    plan = dataclasses.replace(PLAN, gammas=(1, 2), num_tokens=10)
    prompts = make_prompts(target, bundled_prompts(), 1, 5)

    def run(gamma: int):
        return decode_together(target, draft, prompts, gamma, plan.num_tokens, clock=clock)

    alone = [run(0).generations[0].token_ids]
    found = compare(time_batch(1, run, {}, plan), alone)
    assert found.gamma == max(found.searched, key=found.searched.get) == 2
    assert found.searched[2] == pytest.approx(3 / 1.2)  # 3 tokens: 1 s for three rows, and two drafted tokens


def test_a_text_that_is_another_alone_is_found(told) -> None:
    target, draft, clock = told
    prompts = make_prompts(target, bundled_prompts(), 2, 5)

    def run(gamma: int):
        return decode_together(target, draft, prompts, gamma, PLAN.num_tokens, clock=clock)

    alone = [each.token_ids for each in run(0).generations]
    rounds = time_batch(2, run, {}, PLAN)
    assert compare(rounds, alone).differing == ()
    assert compare(rounds, [alone[0], (*alone[1][:-1], -1)]).differing == (1,)


@pytest.mark.parametrize(
    ("speedups", "text"),
    [
        ([2.0, 1.5, 1.0, 0.5], "4.0"),
        ([2.0, 1.5, 1.25, 0.75], "5.7"),  # half way between 4 and 8 by logarithm
        ([0.9, 1.5, 0.5, 0.4], "2.8"),  # from the last batch that pays
        ([2.0, 1.5, 1.4, 1.0], "above 8"),
        ([0.9, 0.8, 0.8, 0.7], "below 1"),
    ],
)
def test_break_even(speedups: list[float], text: str) -> None:
    assert str(find_break_even([1, 2, 4, 8], speedups)) == text


def test_the_figure_marks_where_speculation_breaks_even() -> None:
    def found(*speedups: float) -> BatchBenchmark:
        goodput = tuple(
            Goodput(2**i, 1, {}, 1.0, ratio, ratio, (ratio, ratio), 2.0, 0.7, 0.0, 0.0, 1, 1, ())
            for i, ratio in enumerate(speedups)
        )
        return BatchBenchmark((), (), goodput, tuple(Forecast(each.batch, 1.0, 1.0) for each in goodput), (), 0.7)

    def marks(figure) -> list[float]:
        """Return where the vertical lines over the whole height of the axes stand."""
        return [line.get_xdata()[0] for axes in figure.axes for line in axes.lines if list(line.get_ydata()) == [0, 1]]

    assert marks(batches_figure(found(2.0, 1.5, 0.5), "t", "m")) == pytest.approx([2**1.5, 2**1.5])
    figure = batches_figure(found(2.0, 1.5, 1.2), "t", "m")
    assert marks(figure) == []
    plain, speculative = (list(zip(*line.get_data(), strict=True)) for line in figure.axes[2].lines)
    assert plain == [(1.0, 1.0), (0.5, 1.0), (0.25, 1.0)], "of each text, and of all"
    assert speculative == [(2.0, 2.0), (0.75, 1.5), (0.3, 1.2)]


def test_slots_held_and_used_after_every_step() -> None:
    """16 tokens of prompt and 5 more: 16 to 19 in the cache after a step, then the text has left."""
    target = random_gpt2("panel")
    paged, contiguous = (measure_pages(target, [list(range(1, 17))], 5, size) for size in (16, 64))
    assert (paged.num_steps, paged.used, paged.held) == (4, 17.5, (16 + 3 * 32) / 4)
    assert (paged.waste, paged.worst) == pytest.approx((1 - 17.5 / 28, 1 - 17 / 32))
    assert (contiguous.used, contiguous.held) == (17.5, 64.0)


def test_lengths_are_mixed() -> None:
    """Ends of 5, 10, 15 and 20 tokens: all of them, then one more of each; with the third new token the texts end."""
    texts = [list(range(20 * i, 20 * i + 20)) for i in range(4)]
    found = measure_pages(random_gpt2("panel"), texts, 3, 64)
    assert (found.num_steps, found.used, found.held) == (2, 50 + 4 / 2, 4 * 64)


def test_prompts_have_one_length_and_no_two_are_alike(pair: tuple[str, str]) -> None:
    target, prompts = load_model(pair[0]), bundled_prompts()
    made = make_prompts(target, prompts, 60, 200)
    assert {len(tokens) for tokens in made} == {200}
    assert len({tuple(tokens) for tokens in made}) == 60
    end = target.tokenizer.encode(prompts[1].text)
    assert made[1][-len(end) :] == end


def test_a_draft_may_be_kept_otherwise_than_its_target() -> None:
    target, draft = Shape("t", 100, 64, 32, 2, 2, 128, 2), Shape("d", 100, 64, 16, 1, 2, 64, 2)
    machine = dataclasses.replace(MACHINE, peak_flops_per_s={"float32": 100e12, "float16": 100e12})
    options = {"context": 8, "storage": Storage("float32"), "kv_bytes": 4, "gamma": 2, "alpha": 0.5, "draft": draft}
    (same,) = over_batches(target, machine, [1], **options)
    (smaller,) = over_batches(target, machine, [1], **options, draft_storage=Storage("float16"))
    assert (smaller.step_s, smaller.verify_s) == (same.step_s, same.verify_s)
    assert smaller.draft_s < same.draft_s
    assert smaller.weights_bytes < same.weights_bytes


# Plans


@pytest.mark.parametrize(
    ("change", "way_out"),
    [
        ({"repeats": 4}, "Try 5"),
        ({"gammas": ()}, "--gammas 1,2,4"),
        ({"batches": (0,)}, "--batch 1,2,4"),
        ({"gammas": (1, 6), "num_tokens": 8}, "--max-tokens 36"),
    ],
)
def test_a_plan_that_would_prove_nothing_is_refused(change: dict, way_out: str) -> None:
    with pytest.raises(OptionError, match=way_out):
        dataclasses.replace(PLAN, **change)


def test_a_text_that_ends_with_the_prompts_leaves_nothing_to_time(told) -> None:
    target, draft, clock = told
    with pytest.raises(InvariantError, match="before all prompts"):
        decode_together(target, draft, make_prompts(target, bundled_prompts(), 1, 5), 3, 2, clock=clock)


# The command


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """No ladder: the command's words are tested here, not the machine."""
    monkeypatch.setattr("minispec.cli.bench.measure_machine", lambda *_: MACHINE)


def invoke(pair: tuple[str, str], *arguments: str):
    return CliRunner().invoke(cli, ["bench", "--target", pair[0], "--draft", pair[1], *arguments])


def test_the_command_prints_80_columns(pair: tuple[str, str], fast: None) -> None:
    done = invoke(pair, "--batch", "2,1", "--quick", "--gammas", "1,2,4,6")
    assert done.exit_code == 0, done.output
    _, _, tables = done.stdout.partition("backend panel")  # below what describes the machine
    assert max(len(line.rstrip()) for line in tables.split("these timings")[0].splitlines()) <= 80
    for words in ("v(B, 7)", "paged / cont.", "spec./s", "roofline says", "same texts", "break-even batch", "at worst"):
        assert words in tables
    assert "NO" not in tables


def test_the_command_reports_json_and_draws(pair: tuple[str, str], fast: None, tmp_path: Path) -> None:
    halves = "--kv-dtype", "float16"
    done = invoke(pair, "--batch", "1,2", "--quick", "--json", "--plot", str(tmp_path / "b.png"), *halves)
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert [each["batch"] for each in report["goodput"]] == [1, 2]
    assert all(each["same_texts"] for each in report["goodput"])
    assert [(each["batch"], each["rows"]) for each in report["forwards"]] == [(b, r) for b in (1, 2) for r in (1, 2, 4)]
    assert set(report["break_even"]) == {"measured", "from_costs", "from_roofline"}
    assert [each["page_size"] for each in report["pages"]] == [16, 256]
    assert report["pair"]["kv_dtype"] == "float16"
    assert {"alpha", "doubts", "drafts", "forecasts", "machine", "pair", "plan"} <= set(report)
    assert (tmp_path / "b.png").read_bytes().startswith(b"\x89PNG")


def test_differing_texts_fail_after_the_report(
    pair: tuple[str, str], fast: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate = batches.generate

    def other(*arguments, **options):
        made = generate(*arguments, **options)
        return dataclasses.replace(made, token_ids=(*made.token_ids[:-1], -1))

    monkeypatch.setattr(batches, "generate", other)
    done = invoke(pair, "--batch", "1,2", "--quick")
    assert isinstance(done.exception, MinispecError)
    assert done.exception.exit_code == 1
    assert "batch 2: texts 0, 1" in str(done.exception)
    assert "NO" in done.stdout


def test_options_that_make_no_sense_are_refused(pair: tuple[str, str], fast: None) -> None:
    for arguments, words in (
        (("--rows", "1,2"), "rows is 1,2; with --batch rows follow from --gammas, 1 and γ + 1. Leave --rows out"),
        (("--per-domain", "3"), "per-domain is 3; with --batch there are as many texts as the batch has"),
        (("--repeats", "3"), "Try 5"),
        (("--max-tokens", "8"), "--max-tokens 36"),
        (("--context", "250"), "--context 192"),
        (("--backend", "numpy"), "--backend panel"),
    ):
        done = invoke(pair, "--batch", "1,2", *arguments)
        assert isinstance(done.exception, MinispecError), (arguments, done.output)
        assert words in str(done.exception)
        assert done.exception.exit_code == 2
    assert invoke(pair, "--batch", "0").exit_code == 2
