"""The benchmark: what it compares is alike, what it reports is what was timed. On fakes and tiny models."""

from __future__ import annotations

import dataclasses
import itertools
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from minispec.cli.main import cli
from minispec.engine.loading import load_model
from minispec.errors import InvariantError, MinispecError, OptionError
from minispec.lab.bench import costs
from minispec.lab.bench.costs import (
    ALTERNATIONS,
    PLAIN,
    QUICK,
    SEARCH_SEED,
    Plan,
    Setting,
    by_domain,
    compare_domain,
    cost_timers,
    prefill_floor,
    runner,
)
from minispec.lab.prompts import bundled_prompts
from minispec.lab.roofline.machine import Machine
from tests.tiny import write_model

GREEDY, SAMPLED = Setting(0.0), Setting(1.0, 0.95)
MACHINE = Machine("m", [(1 << 20, 200e9), (1 << 26, 50e9)], {"float32": 100e9})


# Speculation against plain decoding, on runs whose times are told


def told(gamma_seconds: dict[int, float], tokens=lambda gamma, seed: (9, 1, 2, 3, 4), drift: float = 1.0):
    """A run that takes the seconds of its gamma, ``drift`` times longer in every other round, and logs its calls."""
    calls: list[tuple[str, int, int]] = []

    def run(prompt: str, gamma: int, seed: int):
        calls.append((prompt, gamma, seed))
        ids = tuple(tokens(gamma, seed))
        seconds = gamma_seconds[gamma] * (drift if seed % 2 else 1.0)
        metrics = SimpleNamespace(
            num_tokens=len(ids),
            num_decode_tokens=len(ids) - 1,
            decode_s=seconds,
            num_steps=2,
            **dict.fromkeys(("num_draft_tokens", "prefill_s", "draft_s", "target_s"), 0),
            num_accepted_tokens=2,
            num_evaluated_tokens=3,
        )
        return SimpleNamespace(token_ids=ids, metrics=metrics, finish_reason="length")

    return run, calls


def compare(run, setting=GREEDY, prompts=("a", "b"), gammas=(2, 4, 6), repeats=5):
    return compare_domain("d", prompts, run, setting, num_tokens=5, gammas=gammas, repeats=repeats)


def test_the_best_gamma_is_the_fastest_of_the_search() -> None:
    run, calls = told({PLAIN: 4.0, 2: 3.0, 4: 1.0, 6: 2.0})
    found = compare(run)
    assert found.gamma == 4
    assert found.searched_s == {2: 0.75, 4: 0.25, 6: 0.5}
    assert (found.plain_s, found.speculative_s, found.speedup, found.spread) == (1.0, 0.25, 4.0, (4.0, 4.0))
    assert (found.tau, found.alpha) == (2.0, 2 / 3)
    # Like for like: each round gives both the same prompts and the same seed.
    measured = sorted(call for call in calls if call[2] < SEARCH_SEED - 1)
    assert measured == sorted(itertools.product("ab", (PLAIN, 4), range(5)))


def test_drift_between_rounds_does_not_reach_the_speedup() -> None:
    run, _ = told({PLAIN: 4.0, 2: 2.0, 4: 3.0, 6: 3.0}, drift=10.0)
    assert compare(run).spread == (2.0, 2.0)


def test_the_search_and_the_measurement_share_no_seed() -> None:
    """A gamma that is lucky on the seeds of the search is chosen, and then measured without its luck."""
    run, _ = told({PLAIN: 4.0, 2: 4.0, 4: 4.0, 6: 4.0})

    def lucky(prompt: str, gamma: int, seed: int):
        generation = run(prompt, gamma, seed)
        if gamma == 6 and seed >= SEARCH_SEED:
            generation.metrics.decode_s = 0.1
        return generation

    found = compare(lucky)
    assert (found.gamma, found.speedup) == (6, 1.0)


def test_greedy_text_must_be_the_same_and_sampled_text_need_not() -> None:
    seconds = {PLAIN: 1.0, 2: 1.0, 4: 1.0, 6: 1.0}
    differs, _ = told(seconds, tokens=lambda gamma, seed: (9, 1, 2, 3, 5 if gamma and seed == 3 else 4))
    assert compare(told(seconds)[0]).same_tokens is True
    assert compare(differs).same_tokens is False
    assert compare(differs, SAMPLED).same_tokens is None


def test_runs_of_different_lengths_are_refused() -> None:
    run, _ = told({PLAIN: 1.0, 2: 1.0, 4: 1.0, 6: 1.0}, tokens=lambda gamma, seed: (1,) * (4 if gamma == 4 else 5))
    with pytest.raises(InvariantError, match="gamma 4 emitted 4 tokens of 5"):
        compare(run)


# Plans and costs


@pytest.mark.parametrize(
    ("change", "message"),
    [({"repeats": ALTERNATIONS - 1}, "at least 5"), ({"gammas": ()}, "2,4,6"), ({"gammas": (0,)}, "2,4,6")],
)
def test_a_plan_that_would_prove_nothing_is_refused(change: dict, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        dataclasses.replace(Plan(), **change)


def test_prompts_by_domain() -> None:
    domains = by_domain(bundled_prompts(), 2)
    assert list(domains) == ["stories", "code", "questions"]
    assert all(len(texts) == 2 for texts in domains.values())


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("models")
    target = write_model(folder / "target", seed=1, n_positions=512, scale=0.3)
    return str(target), str(write_model(folder / "draft", seed=2, n_positions=512, n_embd=8, n_layer=1, scale=0.3))


def test_each_cost_times_its_own_call_and_leaves_no_trace(pair: tuple[str, str]) -> None:
    """On a clock that ticks once per reading, every timed call takes one tick: a drafted token a quarter of it."""
    ticks = itertools.count()
    timers = cost_timers(*(load_model(name, "numpy") for name in pair), QUICK, clock=lambda: float(next(ticks)))
    first = {name: run() for name, run in timers.items()}
    assert first == {name: run() for name, run in timers.items()}
    assert first.pop("drafted token") == 0.25
    assert set(first.values()) == {1.0}


def test_the_floor_of_a_prefill_is_its_matrices(pair: tuple[str, str]) -> None:
    target = load_model(pair[0], "numpy")
    floors = [prefill_floor(target, MACHINE, tokens) for tokens in (1, 64, 65, 128)]
    assert floors == sorted(floors)
    assert floors[2] - floors[1] > 0.9 * floors[0]  # a chunk more reads the weights once more


def test_end_to_end_on_a_tiny_pair(pair: tuple[str, str]) -> None:
    """The real engine: greedy texts agree, and lengths are what was asked for although the models may end texts."""
    target, draft = (load_model(name) for name in pair)
    for setting in (GREEDY, SAMPLED):
        found = compare_domain(
            "d", ["the", "a"], runner(target, draft, setting, 6), setting, num_tokens=6, gammas=(1, 3), repeats=5
        )
        assert found.same_tokens is (True if setting is GREEDY else None)
        assert found.tau is not None
        assert 1.0 <= found.tau <= found.gamma + 1
        assert found.speedup > 0.0


# The command


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """No ladder: the command's words are tested here, not the machine."""
    monkeypatch.setattr("minispec.cli.bench.measure_machine", lambda *_: MACHINE)


def invoke(*arguments: str):
    return CliRunner().invoke(cli, ["bench", *arguments])


def test_the_command_reports_json_and_draws(pair: tuple[str, str], fast: None, tmp_path: Path) -> None:
    done = invoke("--target", pair[0], "--draft", pair[1], "--quick", "--json", "--plot", str(tmp_path / "b.png"))
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert {run["domain"] for run in report["speculation"]} == {"stories", "code", "questions"}
    assert all(run["same_tokens"] for run in report["speculation"] if run["setting"]["temperature"] == 0.0)
    assert [m["rows"] for m in report["forwards"]] == [1, 2, 5]
    assert {"cpu", "cores", "threads", "numpy", "numba"} <= set(report["machine"])
    assert set(report["geometric_mean"]) == {"0", "1"}
    assert (tmp_path / "b.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_given_beside_quick_is_measured(
    pair: tuple[str, str], fast: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stopped(Exception): ...

    def stop(target, draft, machine, prompts, plan, *, progress):
        raise Stopped(plan)

    monkeypatch.setattr("minispec.cli.bench.run_benchmark", stop)
    for arguments, changed in (
        (("--repeats", "6"), {"repeats": 6}),
        (("--max-tokens", "9", "--context", "8"), {"num_tokens": 9, "context": 8}),
        (
            ("--rows", "3,2", "--gammas", "3,1", "--per-domain", "2"),
            {"rows": (1, 2, 3), "gammas": (1, 3), "prompts": 2},
        ),
    ):
        done = invoke("--target", pair[0], "--draft", pair[1], "--quick", *arguments)
        assert isinstance(done.exception, Stopped), done.output
        assert done.exception.args == (dataclasses.replace(costs.QUICK, **changed),)


def test_a_model_of_few_positions_is_measured(fast: None, tmp_path: Path) -> None:
    """A prefill is as long as there is room for; a prompt that is not run may be of any length."""
    small = str(write_model(tmp_path / "small", n_positions=24))
    prompts = tmp_path / "prompts.txt"
    prompts.write_text(f"the\n{'the end ' * 9}\n")
    done = invoke("--target", small, "--draft", small, "--quick", "--context", "3", "--prompts", str(prompts))
    assert done.exit_code == 0, done.output
    assert "prefill, 24 tokens" in done.stdout


def test_differing_greedy_texts_fail_after_the_report(
    pair: tuple[str, str], fast: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(target, draft, setting, num_tokens):
        run = runner(target, draft, setting, num_tokens)

        def decode(prompt: str, gamma: int, seed: int):
            made = run(prompt, gamma, seed)
            return dataclasses.replace(made, token_ids=(0, *made.token_ids[1:])) if gamma else made

        return decode

    def run_wrong(*arguments, **options):
        return costs.run_benchmark(*arguments, **options, make_runner=wrong)

    monkeypatch.setattr("minispec.cli.bench.run_benchmark", run_wrong)
    done = invoke("--target", pair[0], "--draft", pair[1], "--quick")
    assert isinstance(done.exception, MinispecError)
    assert done.exception.exit_code == 1
    assert "speculative text is not the plain text (stories, code, questions)" in str(done.exception)
    assert "NO" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("--max-tokens", "100000"),
        ("--context", "5000"),
        ("--rows", "5000"),
        ("--context", "0", "--rows", "5000"),
        ("--context", "5000", "--rows", "5000"),
        ("--batch", "1", "--context", "5000"),
        ("--batch", "1", "--max-tokens", "512"),
        ("--batch", "1", "--max-tokens", "6000"),
        ("--batch", "1", "--max-tokens", "6000", "--gammas", "5000"),
    ],
)
def test_what_does_not_fit_is_refused_first_and_what_is_suggested_fits(
    pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    class MeasuredError(Exception): ...

    def measure(*_: object) -> None:
        raise MeasuredError

    monkeypatch.setattr("minispec.cli.bench.measure_machine", measure)
    both = ("--target", pair[0], "--draft", pair[1], "--quick")
    refused = invoke(*both, *arguments).exception
    assert isinstance(refused, OptionError), refused
    way_out = str(refused).partition("Try ")[2].split()
    assert way_out
    assert isinstance(invoke(*both, *arguments, *way_out).exception, MeasuredError), refused


def test_a_prompt_that_alone_is_too_long_is_to_be_shortened(pair: tuple[str, str], tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("x" * 511)
    refused = invoke("--target", pair[0], "--draft", pair[1], "--quick", "--prompts", str(prompts)).exception
    assert isinstance(refused, OptionError), refused
    assert str(refused).startswith("the longest prompt has 511 tokens, and 8 tokens after it need 519 positions; ")
    assert str(refused).endswith(". Shorten that prompt")


def test_bad_input_is_refused_before_anything_is_measured(pair: tuple[str, str], tmp_path: Path, fast: None) -> None:
    both = ("--target", pair[0], "--draft", pair[1])
    for arguments, words in (
        (("--backend", "numpy"), "--backend panel"),
        (("--repeats", "3"), "at least 5"),
        (("--max-tokens", "500"), "so runs would end early and not be alike. Try --max-tokens "),
        (("--context", "508"), "has 512. Try --context 251"),
        (("--quick", "--context", "500", "--rows", "13"), "has 512. Try --context 249"),
        (("--plot", "x.gif"), "plot.png"),
        (("--prompts", str(tmp_path / "none")), "cannot be read"),
        (("--draft", "draft-1.6m"), "vocabular"),
    ):
        done = invoke(*both, *arguments)
        assert isinstance(done.exception, MinispecError), (arguments, done.output)
        assert words in str(done.exception)
        assert done.exception.exit_code == 2
