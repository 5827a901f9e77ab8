"""``minispec roofline`` as a user meets it: tables, JSON, plots, and one clear line for what cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from minispec.cli.main import cli
from minispec.errors import MinispecError
from minispec.lab.roofline.machine import Machine
from tests.tiny import write_model

MACHINE = Machine("m", [(1 << 20, 200e9), (1 << 26, 50e9)], {"float32": 100e9, "int8": 100e9})


def invoke(*arguments: str):
    return CliRunner().invoke(cli, ["roofline", *arguments])


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    folder = tmp_path_factory.mktemp("models")
    target, draft = write_model(folder / "target"), write_model(folder / "draft", n_embd=8, n_layer=1)
    return ("--target", str(target), "--draft", str(draft), "--context", "16")


@pytest.fixture(autouse=True)
def known_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minispec.lab.roofline.machine.measure_machine", lambda *_: MACHINE)


def test_what_if_says_that_nothing_is_measured_and_whether_it_fits(tmp_path: Path) -> None:
    plot = tmp_path / "p.svg"
    done = invoke("--machine", "a100", "--shape", "70b", "--draft-shape", "1b", "--plot", str(plot))
    assert done.exit_code == 0, done.output
    assert "Nothing is measured" in done.stdout
    assert "“no”" in done.stdout
    assert plot.read_text(encoding="utf-8").startswith("<?xml")
    report = json.loads(invoke("--machine", "a100", "--shape", "70b", "--batch", "4,1,4", "--json").stdout)
    assert [point["batch"] for point in report["points"]] == [1, 4]
    assert report["points"][0]["fits"] is False
    assert report["points"][0]["speedup"] is None


def test_what_if_about_a_model_at_hand(pair: tuple[str, ...]) -> None:
    report = json.loads(invoke(*pair[:2], *pair[4:], "--machine", "m2-max", "--json").stdout)
    assert report["shape"] == pair[1]
    assert report["points"][0]["fits"] is True


def test_a_measured_report(pair: tuple[str, ...], tmp_path: Path) -> None:
    done = invoke(*pair, "--rows", "3", "--repeats", "1", "--plot", str(tmp_path / "p.png"))
    assert done.exit_code == 0, done.output
    for words in ("lm_head", "bound by", "kB per token", "padding"):
        assert words in done.stdout
    assert "20%" in done.stdout or "cannot be trusted" in done.stdout  # a busy machine makes it doubt its own figures
    assert (tmp_path / "p.png").stat().st_size > 10_000


def test_measured_json_adds_up(pair: tuple[str, ...]) -> None:
    report = json.loads(invoke(*pair, "--rows", "1,4", "--repeats", "1", "--json", "--dtype", "int8").stdout)
    assert [forward["rows"] for forward in report["forwards"]] == [1, 4]
    for forward in report["forwards"]:
        assert sum(part["floor_s"] for part in forward["parts"]) == pytest.approx(forward["floor_s"])
        assert forward["predicted_s"] >= forward["overhead_s"] > 0.0
        read = sum(part["weight_bytes"] + part["cache_bytes"] for part in forward["parts"])
        assert read == forward["footprint_bytes"]
    assert report["memory"]["bytes_per_token"] == 2 * 4 * (2 * 16 + 8)


def test_an_empty_cache_and_the_format_that_auto_chose(pair: tuple[str, ...]) -> None:
    done = invoke(*pair, "--context", "0", "--rows", "1,2", "--repeats", "1", "--json")
    assert done.exit_code == 0, done.exception
    assert json.loads(done.stdout)["dtype"] in ("float16", "float32")


def test_keys_and_values_in_half_the_bytes(pair: tuple[str, ...]) -> None:
    whole, halves = (
        json.loads(invoke(*pair, "--rows", "1", "--repeats", "1", "--json", "--kv-dtype", kv_dtype).stdout)
        for kv_dtype in ("float32", "float16")
    )
    assert (halves["kv_dtype"], halves["memory"]["bytes_per_token"]) == ("float16", 2 * 2 * (2 * 16 + 8))
    read = [sum(part["cache_bytes"] for part in each["forwards"][0]["parts"]) for each in (whole, halves)]
    assert read[0] == 2 * read[1] > 0
    assumed = invoke("--machine", "h100", "--shape", "gpt2", "--kv-dtype", "float32").stdout
    assert "float16 weights, 4-byte cache" in assumed


def test_what_is_given_beside_quick_is_measured(pair: tuple[str, ...]) -> None:
    report = json.loads(invoke(*pair, "--quick", "--rows", "3", "--repeats", "1", "--json").stdout)
    assert [forward["rows"] for forward in report["forwards"]] == [1, 3]
    assert report["repeats"] == 1
    assert json.loads(invoke(*pair, "--quick", "--json").stdout)["repeats"] == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--machine", "h100", "--rows", "1,2"), "--rows is for measuring, and --machine measures nothing"),
        (("--machine", "h100", "--repeats", "3"), "--repeats is for measuring"),
        (("--machine", "h100", "--memory"), "--memory is for measuring"),
        (("--machine", "h100", "--quick"), "--quick is for measuring"),
        (("--machine", "h100", "--draft", "ngram-model"), "--draft is for measuring"),
        (("--machine", "h100", "--alpha", "0.5"), "--alpha is for --draft-shape"),
        (("--batch", "4"), "--batch is for --machine, and this measures. Leave --batch out"),
        (("--gamma", "4"), "--gamma is for --machine"),
        (("--alpha", "0.5"), "--alpha is for --machine"),
        (("--target", "target-17m", "--shape", "gpt2"), "Leave one"),
        (("--machine", "h100", "--shape", "gpt2", "--context", "99999999999999"), "Try --context 1020"),
        (("--machine", "h100", "--context", "1021"), "context is 1021; target-17m has 1024 positions"),
    ],
)
def test_what_would_be_ignored_or_cannot_be_is_refused(arguments: tuple[str, ...], words: str) -> None:
    done = invoke(*arguments)
    assert isinstance(done.exception, MinispecError), done.output
    assert words in str(done.exception)
    assert done.exception.exit_code == 2
    assert done.stdout == ""


def test_a_variable_for_another_command_is_no_fault() -> None:
    done = CliRunner().invoke(
        cli, ["roofline", "--machine", "h100", "--context", "1019", "--batch", "1", "--json"],
        env={"MINISPEC_ROWS": "1,2", "MINISPEC_DRAFT": "ngram-model"},
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    rotated = invoke("--machine", "h100", "--shape", "llama3-70b", "--context", "32768", "--json")
    assert rotated.exit_code == 0, rotated.output


@pytest.mark.parametrize(
    "arguments",
    [
        ("--machine", "h100", "--shape", "gpt2", "--gamma", "2000", "--context", "0"),
        ("--machine", "h100", "--shape", "gpt2", "--gamma", "2000"),
        ("--machine", "h100", "--shape", "gpt2", "--context", "2000"),
        ("--machine", "h100", "--shape", "7b", "--draft-shape", "gpt2", "--context", "3000"),
        ("--machine", "h100", "--shape", "gpt2", "--draft-shape", "gpt2-xl", "--context", "3000"),
        ("--rows", "5000", "--context", "0"),
        ("--rows", "5000"),
        ("--context", "2000"),
        ("--context", "2000", "--memory"),
    ],
)
def test_what_does_not_fit_is_refused_first_and_what_is_suggested_fits(
    pair: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    class MeasuredError(Exception): ...

    def measure(*_: object) -> None:
        raise MeasuredError

    monkeypatch.setattr("minispec.lab.roofline.machine.measure_machine", measure)
    models = () if "--machine" in arguments else pair
    refused = invoke(*models, *arguments).exception
    assert isinstance(refused, MinispecError), refused
    assert "empty has" not in str(refused)
    way_out = str(refused).partition("Try ")[2].split()
    assert way_out
    done = invoke(*models, *arguments, *way_out)
    assert done.exit_code == 0 if "--machine" in arguments else isinstance(done.exception, MeasuredError), refused


def test_the_memory_of_a_draft_is_filled_no_further_than_it_goes(pair: tuple[str, ...], tmp_path: Path) -> None:
    small = str(write_model(tmp_path / "small", n_positions=24))
    refused = invoke(*pair[:2], "--draft", small, "--context", "30", "--rows", "1", "--memory").exception
    assert isinstance(refused, MinispecError), refused
    assert f"{small} has 24. Try --context" in str(refused)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--machine", "h1000"), "Did you mean 'h100'"),
        (("--machine", "h100", "--shape", "70bb"), "Did you mean '70b'"),
        (("--shape", "70b"), "--machine h100 --shape 70b"),
        (("--draft-shape", "1b"), "--draft"),
        (("--shape", "gpt2", "--memory"), "Leave one"),
        (("--plot", "plot.bmp"), "plot.png"),
        (("--machine", "h100", "--draft-shape", "1b", "--alpha", "1.5"), "alpha"),
        (("--context", "64"), "--context 27"),
    ],
)
def test_bad_input_is_one_clear_line(pair: tuple[str, ...], arguments: tuple[str, ...], words: str) -> None:
    done = invoke(*(() if {"--machine", "--shape"} & set(arguments) else pair), *arguments)
    assert isinstance(done.exception, MinispecError), done.output
    assert words in str(done.exception)
    assert "\n" not in str(done.exception)
    assert done.exception.exit_code == 2
    assert done.stdout == ""
