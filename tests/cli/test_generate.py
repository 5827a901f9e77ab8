"""The main command: what it writes where, in every form, and that the forms agree."""

from __future__ import annotations

import fcntl
import functools
import json
import os
import pty
import re
import shlex
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import pytest

import minispec
from minispec.engine.generation.trace import read_trace
from minispec.engine.loading import load_tokenizer
from tests.cli.conftest import Run

ESCAPE = re.compile(r"\x1b\[[0-9;:]*m")
CONTROL = re.compile(r"\x1b\[\??[0-9;:]*[A-Za-z]|\r")
NEWLINE = "\n"


def report(run: Run, *arguments: str, **environment: str) -> dict[str, Any]:
    done = run("generate", *arguments, "--json", **environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1  # one object and nothing else
    loaded: dict[str, Any] = json.loads(done.stdout)
    return loaded


def test_the_json_report_agrees_with_the_library(run_here: Run, target: str, draft: str) -> None:
    told = report(run_here, "Once the", "--target", target, "--draft", draft, "--max-tokens", "24", "--seed", "7")
    made = minispec.generate("Once the", target=target, draft=draft, backend="numpy", max_tokens=24, seed=7)
    assert told["token_ids"] == list(made.token_ids)
    assert told["text"] == made.text
    assert told["sources"] == list(made.sources)
    assert set(told["sources"]) <= {"accepted", "recovered", "bonus", "plain"}
    assert told["finish_reason"] == made.finish_reason
    assert told["guarantee"] == "same-distribution"
    assert told["options"] == {**made.options, "stop": [], "logprobs": True}  # the report has details per token
    assert told["metrics"]["num_tokens"] == len(told["token_ids"])
    assert told["metrics"]["costs"]["cost_ratio"] > 0


def test_every_option_and_its_default_is_in_help_and_json(run_here: Run, target: str) -> None:
    told = report(run_here, "the", "--target", target, "--draft", "none", "--max-tokens", "2", MINISPEC_BACKEND="numpy")
    help_text = " ".join(run_here("generate", "--help").stdout.split())
    assert told["options"].pop("logprobs")  # follows from --json
    for name, value in told["options"].items():
        assert f"--{name.replace('_', '-')}" in help_text
        if name in ("gamma", "temperature", "top_p", "seed"):
            assert re.search(rf"--{name.replace('_', '-')} [^\[]*(\[[^d][^\[]*)*\[default: {value}\]", help_text)


def test_a_flag_wins_over_the_environment_which_wins_over_the_default(run_here: Run, target: str) -> None:
    base = ("the", "--target", target, "--draft", "none")
    assert report(run_here, *base, MINISPEC_MAX_TOKENS="3")["options"]["max_tokens"] == 3
    told = report(run_here, *base, "--max-tokens", "4", MINISPEC_MAX_TOKENS="3")
    assert told["options"]["max_tokens"] == 4
    assert len(told["token_ids"]) == 4


def test_a_pipe_gets_the_text_alone_and_stderr_the_table(run_here: Run, target: str, draft: str) -> None:
    arguments = ("the", "--target", target, "--draft", draft, "--max-tokens", "20")
    done = run_here("generate", *arguments, "--details")
    assert done.stdout == report(run_here, *arguments)["text"] + "\n"
    assert "\x1b" not in done.stdout + done.stderr
    for line in (
        "mean acceptance length",
        "draft acceptance rate",
        "α per evaluated position",
        "time to first token",
        "time per output token",
        "cost ratio c",
        "predicted speedup",
        "guarantee",
    ):
        assert line in done.stderr
    quiet = run_here("generate", *arguments, "--quiet")
    assert (quiet.stdout, quiet.stderr) == (done.stdout, "")
    first = [re.split(r"  +", line)[0] for line in run_here("generate", *arguments).stderr.splitlines()]
    assert first[:4] == ["mean acceptance length", "predicted speedup", "guarantee", "read on"]  # then advice, if any
    plain = run_here("generate", "the", "--target", target, "--draft", "none", "--max-tokens", "4").stderr.splitlines()
    assert [re.split(r"  +", line)[0] for line in plain][:4] == [
        "time per output token",
        "speedup",
        "guarantee",
        "read on",
    ]


def test_compare_measures_plain_decoding_and_finds_the_same_greedy_tokens(
    run_here: Run, target: str, draft: str
) -> None:
    told = report(
        run_here, "the", "--target", target, "--draft", draft, "--max-tokens", "12", "--temperature", "0", "--compare",
        "--backend", "numba",
    )  # fmt: skip
    assert told["guarantee"] == "bit-exact"
    assert told["comparison"]["same_tokens"] is True
    low, high = told["comparison"]["speedup_range"]
    assert 0 < low <= high
    assert told["comparison"]["speedup"] > 0


def test_a_tree_says_how_often_each_sibling_was_kept(run_here: Run, target: str, draft: str) -> None:
    tree = ("--target", target, "--draft", f"tree:draft={draft},shape=3x1", "--verify", "tree", "--max-tokens", "20")
    shares = report(run_here, "the", *tree)["acceptance_by_rank"]
    assert len(shares) == 3
    assert all(0.0 <= after <= before <= 1.0 for before, after in zip([1.0, *shares], shares, strict=False))
    shown = "/".join(f"{share:.2f}" for share in shares)
    assert re.search(
        rf"^acceptance by rank +{shown} ", run_here("generate", "the", *tree, "--details").stderr, re.MULTILINE
    )
    assert report(run_here, "the", "--target", target, "--draft", draft)["acceptance_by_rank"] == []


def test_the_trace_is_the_whole_run(run_here: Run, target: str, draft: str, tmp_path: Path) -> None:
    told = report(run_here, "the", "--target", target, "--draft", draft, "--max-tokens", "15", "--trace", "run.jsonl")
    events = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text(encoding="utf-8").splitlines()]
    kinds = [event["event"] for event in events]
    assert kinds[0] == "prefilled"
    assert kinds[-1] == "finished"
    assert kinds[1:-1] == ["emitted", *["drafted", "verified", "emitted"] * told["metrics"]["num_steps"]]
    emitted = [event for event in events if event["event"] == "emitted"]
    assert [token for event in emitted for token in event["token_ids"]] == told["token_ids"]
    assert "".join(piece["text"] for event in emitted for piece in event["pieces"]) == told["text"]
    assert events[-1]["text"] == told["text"]
    assert list(tmp_path.iterdir()) == [tmp_path / "run.jsonl"]


def test_a_trace_is_whole_where_who_reads_the_text_leaves(target: str, draft: str, tmp_path: Path) -> None:
    words = ["generate", "the", "--target", target, "--draft", draft, "--max-tokens", "40", "--trace", "t.jsonl"]
    line = " ".join(map(shlex.quote, [sys.executable, "-u", "-m", "minispec", *words])) + " | true"
    done = subprocess.run(
        ["bash", "-c", f"{line}; exit ${{PIPESTATUS[0]}}"], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 1
    assert b"t.jsonl" not in done.stderr
    assert len(read_trace(tmp_path / "t.jsonl").generation.token_ids) == 40
    assert list(tmp_path.iterdir()) == [tmp_path / "t.jsonl"]


def test_rejected_drafts_are_shown_and_the_rest_is_the_text(
    run_here: Run, target: str, draft: str, tmp_path: Path
) -> None:
    arguments = ("the", "--target", target, "--draft", draft, "--max-tokens", "30", "--seed", "3", "--trace", "t.jsonl")
    shown = run_here("generate", *arguments, "--show-drafts").stdout.removesuffix("\n")
    events = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text(encoding="utf-8").splitlines()]
    rejected = [event["rejected"] for event in events if event["event"] == "verified" and event["rejected"]]
    assert rejected
    tokenizer = load_tokenizer(target)
    for tokens in rejected:
        struck = f"[-{''.join(tokenizer.decode([token]) for token in tokens).replace(NEWLINE, '↵')}-]"
        assert struck in shown
        shown = shown.replace(struck, "", 1)
    assert shown == events[-1]["text"]


def test_the_tree_of_which_most_was_kept_is_drawn(run_here: Run, target: str, draft: str) -> None:
    tree = ("--draft", f"tree:draft={draft},shape=dynamic,nodes=6,siblings=likeliest", "--verify", "tree")
    arguments = ("generate", "the", "--target", target, *tree, "--max-tokens", "20", "--temperature", "0")
    shown, plain = run_here(*arguments, "--show-drafts"), run_here(*arguments)
    assert "of which the target kept the longest path" in shown.stderr
    assert shown.stderr.count("from the target") == 1
    assert "longest path" not in plain.stderr


@pytest.mark.parametrize("seed", [1, 5])
def test_the_stop_string_ends_the_text_before_itself(run_here: Run, target: str, draft: str, seed: int) -> None:
    base = ("the", "--target", target, "--draft", draft, "--max-tokens", "60", "--seed", str(seed))
    whole = report(run_here, *base)["text"]
    needle = whole[5:7]  # any two characters the run really produces
    told = report(run_here, *base, "--stop", needle)
    assert told["finish_reason"] == "stop"
    assert told["stop"] == needle
    assert told["text"] == whole[: whole.index(needle)]


def test_standard_input_is_the_prompt_without_its_last_newline(run_here: Run, target: str, draft: str) -> None:
    arguments = ("--target", target, "--draft", draft, "--max-tokens", "9")
    done = run_here("generate", "-", *arguments, "--json", stdin="Thé the\n".encode())
    assert json.loads(done.stdout)["prompt"] == "Thé the"
    assert json.loads(done.stdout)["text"] == report(run_here, "Thé the", *arguments)["text"]


def on_a_terminal(
    arguments: list[str], columns: int, *, interrupt_at: bytes = b"", code: int = 0, **environment: str
) -> str:
    """Run the command with stdout and stderr on a pseudo-terminal and return what it wrote.

    Ctrl-C is pressed once ``interrupt_at`` was written.
    """
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
    process = subprocess.Popen(
        [sys.executable, "-m", "minispec", *arguments],
        stdin=child,
        stdout=child,
        stderr=child,
        env=env | {"TERM": "xterm-256color", "MINISPEC_BACKEND": "numpy"} | environment,
        preexec_fn=functools.partial(signal.signal, signal.SIGINT, signal.default_int_handler),  # not ignored
    )
    os.close(child)
    written = b""
    while True:
        try:
            chunk = os.read(parent, 65536)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        written += chunk
        if interrupt_at and interrupt_at in written:
            process.send_signal(signal.SIGINT)
            interrupt_at = b""
    assert process.wait(timeout=60) == code
    os.close(parent)
    return written.decode("utf-8", "replace").replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [100, 44, 30])
def test_a_terminal_shows_sources_by_colour_and_underline(target: str, draft: str, columns: int) -> None:
    arguments = [
        "generate",
        "the",
        "--target",
        target,
        "--draft",
        draft,
        "--max-tokens",
        "40",
        "--seed",
        "2",
        "--details",
    ]
    coloured = on_a_terminal(arguments, columns)
    for name in ("accepted", "recovered"):
        assert re.search(rf"\x1b\[[0-9;]+m{name}\x1b\[0m", coloured), f"no legend entry for {name}"
    assert re.search(r"\x1b\[4;38;", coloured)  # recovered tokens are underlined, not only coloured
    shown = " ".join(ESCAPE.sub("", coloured).split())
    for name in ("mean acceptance length", "draft acceptance rate", "α per evaluated position", "same-distribution"):
        assert columns < 40 or name in shown  # below that rows are folded
    plain = on_a_terminal(arguments, columns, NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*38;", plain)
    assert re.search(r"\x1b\[4m", plain)


def test_ctrl_c_prints_the_table_of_what_there_is(target: str, draft: str) -> None:
    arguments = ["generate", "the", "--target", target, "--draft", draft, "--max-tokens", "60", "--slow", "--details"]
    shown = CONTROL.sub("", on_a_terminal(arguments, 90, interrupt_at=b"\x1b[3;", code=130))
    assert "finished: interrupted" in shown
    assert "mean acceptance length" in shown
    assert shown.rstrip().endswith("minispec: interrupted")
    assert "Traceback" not in shown


def test_a_terminal_that_moves_no_cursor_gets_plain_text(target: str, draft: str) -> None:
    arguments = ["generate", "the", "--target", target, "--draft", draft, "--max-tokens", "20", "--quiet"]
    assert "\x1b" not in on_a_terminal(arguments, 80, TERM="dumb")


def test_a_model_cannot_steer_the_terminal(target: str, draft: str) -> None:
    """A byte-level vocabulary holds ESC; on a terminal it must come out as a visible character."""
    for seed in range(4):
        arguments = ["generate", "the", "--target", target, "--draft", draft, "--seed", str(seed), "--top-p", "1",
                     "--temperature", "3"]  # fmt: skip
        shown = on_a_terminal([*arguments, "--max-tokens", "50", "--quiet"], 80)
        assert not any(c < " " and c not in "\n\t" for c in CONTROL.sub("", shown))


def test_a_broken_pipe_is_quiet(target: str, draft: str) -> None:
    command = f"{sys.executable} -m minispec generate the --target {target} --draft {draft} --max-tokens 40 --seed 2"
    done = subprocess.run(
        ["bash", "-c", f"{command} | true; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"MINISPEC_BACKEND": "numpy"},
        check=True,
    )
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr
    assert done.stdout.strip() in ("1", "0")  # 0 if the pipe took everything before `true` went away


@pytest.mark.parametrize("command", ["", "experiment"])
def test_help_into_a_pipe_that_is_closed_is_quiet(command: str) -> None:
    line = f"{{ sleep 0.2; {sys.executable} -m minispec {command}; }} | true"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""


@pytest.mark.parametrize("module", ["minispec.cli.main", "click", "minispec.cli.generate", "minispec.engine"])
def test_ctrl_c_while_importing_is_one_line(module: str) -> None:
    program = f"""
import sys
from minispec.__main__ import main
class Interrupting:
    def find_spec(self, name, *where):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
sys.argv = ["minispec", "generate", "x"]
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "minispec: interrupted")


def test_ctrl_c_ends_with_130_and_leaves_nothing_behind(run: Run, target: str, draft: str, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "minispec", "generate", "-", "--target", target, "--draft", draft, "--trace", "t.jsonl"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=os.environ | {"MINISPEC_BACKEND": "numpy"},
        preexec_fn=functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # a shell's & has it ignored
    )
    assert process.stdin is not None
    process.stdin.write(b"x" * (1 << 20))  # more than a pipe holds: this returns when it reads its prompt
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.decode().strip() == "minispec: interrupted"
    assert out == b""
    assert list(tmp_path.iterdir()) == []
