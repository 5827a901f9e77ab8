"""Bad input: one line on stderr with the value and the way out, exit code 2, no traceback, nothing written."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from minispec.cli.main import cli
from minispec.errors import MissingDependencyError
from tests.cli.conftest import Run
from tests.tiny import byte_tokenizer, write_model

EMPTY_TOKENIZER = json.dumps(
    {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "vocab": {}, "merges": []},
    }
)


def refused(run: Run, tmp_path: Path, *arguments: str, stdin: bytes = b"", says: tuple[str, ...]) -> None:
    before = sorted(tmp_path.rglob("*"))
    done = run("generate", *arguments, stdin=stdin)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("minispec: ")
    assert "Traceback" not in done.stderr
    for words in says:
        assert words in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("command", ["bench", "roofline"])
@pytest.mark.parametrize("draft", ["eagle", "ngram:n=3", "none", "draft-1.6m:words=3072"])
def test_who_times_models_refuses_other_drafts_without_asking_the_hub(run_here: Run, command: str, draft: str) -> None:
    done = run_here(command, "--draft", draft)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"{draft!r} is a way to draft and no model, and this command times models. Try draft-1.6m" in done.stderr


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--gamma", "-1"], ("gamma is -1", "from 0 (drafts nothing) to 2**63 - 1")),
        (["--gamma", str(2**63)], (f"gamma is {2**63}", "to 2**63 - 1")),
        (["--gamma", "aut"], ("--gamma is 'aut'", "number >= 0", "Did you mean 'auto'?")),
        (["--verify", "tre"], ("--verify is 'tre'", "Did you mean 'tree'?")),
        (["--gamma", "load"], ("gamma is 'load'", "minispec batch", "Try --gamma auto")),
        (["--gamma", "budget"], ("gamma is 'budget'", "minispec batch", "Try --gamma auto")),
        (["--temperature", "-0.5"], ("temperature is -0.5", ">= 0")),
        (["--temperature", "nan"], ("temperature is nan",)),
        (["--temperature", "inf"], ("temperature is inf",)),
        (["--top-p", "0"], ("top-p is 0.0", "(0, 1]")),
        (["--top-p", "1.01"], ("top-p is 1.01",)),
        (["--top-p", "nan"], ("top-p is nan",)),
        (["--top-k", "-3"], ("top-k is -3",)),
        (["--top-k", str(2**63)], (f"top-k is {2**63}", "2**63 - 1")),
        (["--trace", "."], ("'.' is a folder",)),
        (["--trace", ""], ("names no file",)),
        (["--trace", "-"], ("'-' is no file",)),
        (["--draft", "ngramm"], ("'ngramm'", "Did you mean 'ngram'?", "suffix", "cascade")),
        (["--draft", "x" * 300], ("xxx",)),
        (["--slow", "--json"], ("--slow and --json",)),
        (["--race", "--draft", "none"], ("race needs a draft",)),
        (["--compare", "--draft", "none"], ("--compare needs a draft",)),
        (["--compare", "--max-tokens", "1"], ("--compare needs tokens after the first", "max-tokens is 1")),
        (["--race", "--max-tokens", "0"], ("a race needs tokens",)),
        (["--details", "--quiet"], ("--details prints figures after the text, and --quiet",)),
        (["--race", "--quiet"], ("a race shows more than the text, and --quiet prints nothing else",)),
        (["--compare", "--quiet"], ("--compare shows more than the text",)),
        (["--min-tokens", "100000", "--max-tokens", "3"], ("--min-tokens is 100000 and --max-tokens 3",)),
        (["--json", "--show-drafts"], ("--show-drafts is for a text",)),
        (["--json-schema", "schema.json"], ("begins with {", "$(cat FILE)")),
        (["--draft", "tree", "--verify", "tree", "--gamma", "auto"], ("gamma 'auto' cannot change. Try --gamma 3",)),
        (["--gamma", "heuristic:largest=-3"], ("largest is -3; it must be from 1 to 1024",)),
        (["--gamma", f"auto:largest={10**17}"], (f"largest is {10**17}; it must be from 1 to 1024",)),
        (["--draft", f"ngram:n={10**17}"], (f"n is {10**17}; the window must have from 1 to 64 tokens",)),
        (["--draft", f"cascade:n={10**17}"], (f"n is {10**17}; the window must have",)),
        (["--draft", f"DRAFT:words={10**17}"], (f"words is {10**17}; ",)),
        (["--draft", f"tree:shape=sequoia,nodes={10**17}"], ("nodes",)),
        (["--draft", f"tree:shape=dynamic,nodes={10**17}"], ("nodes",)),
        (["--draft", f"tree:shape=dynamic,depth={10**17}"], ("depth",)),
        (["--draft", "tree:shape=9999x9999x9999"], ("9999x9999x9999",)),
        (["--min-p", "2"], ("min-p is 2.0",)),
        (["--max-tokens", "-1"], ("max-tokens is -1",)),
        (["--seed", "-1"], ("seed is -1", "2**64")),
        (["--seed", str(2**64)], (f"seed is {2**64}",)),
        (["--stop", ""], ("stop string is empty",)),
        (["--backend", "abacus"], ("abacus", "numba")),
        (["--dtype", "float8"], ("--dtype is 'float8'; it must be one of auto,", "Did you mean 'float")),
        (["--kv-dtype", "int8"], ("int8", "float16")),
        (["--trace", "no/such/ördner/t.jsonl"], ("no/such/ördner'", "does not exist")),
        (["--gama", "3"], ("--gama", "--gamma")),
    ],
)
def test_nonsense_flags(
    run_here: Run, target: str, draft: str, tmp_path: Path, flags: list[str], says: tuple[str, ...]
) -> None:
    flags = [flag.replace("DRAFT", draft) for flag in flags]
    refused(run_here, tmp_path, "the", "--target", target, "--draft", draft, *flags, says=says)


def test_a_variable_is_named_as_one(run_here: Run) -> None:
    assert run_here("generate", "x", MINISPEC_GAMMA="-1").stderr.startswith(
        "minispec: MINISPEC_GAMMA is -1; it must be"
    )


def test_a_closed_output_is_one_line(target: str, draft: str) -> None:
    command = [sys.executable, "-m", "minispec", "generate", "the", "--target", target, "--draft", draft, "--json"]
    line = " ".join(map(shlex.quote, command)) + " >&-"
    done = subprocess.run(["sh", "-c", line], stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr == "minispec: standard output is closed; there is nowhere to write to. Try >/dev/null\n"


def test_a_closed_stderr_keeps_no_text_back(target: str, draft: str) -> None:
    command = [sys.executable, "-m", "minispec", "generate", "the", "--target", target, "--draft", draft]
    texts = [
        subprocess.run(["sh", "-c", " ".join(map(shlex.quote, command)) + end], stdout=subprocess.PIPE, timeout=120)
        for end in (" 2>/dev/null", " 2>&-", " 2</dev/null")
    ]
    assert [done.returncode for done in texts] == [0, 0, 0]
    assert texts[0].stdout == texts[1].stdout == texts[2].stdout != b""


def test_a_closed_input_is_one_line(target: str) -> None:
    models = f"--target {target} --draft ngram"
    for words in (["generate", "-", *models.split()], ["diff", models, models, "--prompt", "-"]):
        line = " ".join(map(shlex.quote, [sys.executable, "-m", "minispec", *words])) + " <&-"
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=120)
        assert done.returncode == 2
        assert done.stderr.startswith("minispec: standard input is closed, and the prompt"), done.stderr
        assert done.stderr.count("\n") == 1


def test_options_are_utf_8_whatever_the_locale(run: Run, target: str) -> None:
    bare = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    words = ("generate", "x", "--target", target, "--draft", "none", "--max-tokens", "2", "--json", "--stop", "é")
    done = run(*words, **bare)
    assert (done.returncode, json.loads(done.stdout)["options"]["stop"]) == (0, ["é"]), done.stderr


def test_threads_that_cannot_be_are_one_line_and_doctor_says_so(run: Run) -> None:
    for setting in (
        {"NUMBA_NUM_THREADS": "0"},
        {"NUMBA_THREADING_LAYER": "bogus"},
        {"NUMBA_CACHE_LOCATOR_CLASSES": "bogus"},  # every process would compile
    ):
        ((name, value),) = setting.items()
        refused, told = run("warmup", "--backend", "numba", **setting), run("doctor", **setting)
        assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1), refused.stderr
        assert refused.stderr.startswith(f"minispec: {name} is {value!r}")
        assert (told.returncode, name in told.stdout) == (0, True), told.stderr


def test_what_a_console_cannot_show_ends_no_command(run: Run, target: str, draft: str, tmp_path: Path) -> None:
    """A pipe on Windows is cp1252, say: figures and texts come with marks for what it lacks, and JSON comes whole."""
    (tmp_path / "p.txt").write_bytes(b"\xef\xbb\xbfthe\n")
    models = ("--target", target, "--draft", draft, "--max-tokens", "4")
    command, env = [sys.executable, "-m", "minispec"], os.environ | {"PYTHONIOENCODING": "cp1252"}
    for words in (
        ["--help"],
        ["lessons"],
        ["plan", "--alpha", "0.8", "--cost-ratio", "0.1"],
        ["measure", "p.txt", *models, "--no-timing"],
    ):
        done = subprocess.run([*command, *words], cwd=tmp_path, env=env, capture_output=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        assert "?" in done.stdout.decode("cp1252")  # α, γ and τ
    asked = run(
        "generate", "-", *models, "--regex", "é🙂?[a-z]*", "--json", PYTHONIOENCODING="cp1252", stdin=b"\xef\xbb\xbfthe"
    )
    report = json.loads(asked.stdout)
    assert report["prompt"] == "the", "a byte order mark is no text"
    assert report["text"].startswith("é")
    bare = run("generate", "thé", *models, "--json", LC_ALL="C", PYTHONCOERCECLOCALE="0", PYTHONUTF8="0")
    assert json.loads(bare.stdout)["prompt"] == "thé"


def test_no_output_takes_the_place_of_what_the_options_read(run_here: Run, target: str, tmp_path: Path) -> None:
    model = Path(shutil.copytree(target, tmp_path / "model"))
    for name in ("corpus.txt", "p.txt", "r.jsonl"):
        (tmp_path / name).write_text('{"prompt": "the"}\n', encoding="utf-8")
    generate, batch, measure = ["generate", "the", "--trace"], ["batch", "r.jsonl", "-o"], ["measure", "p.txt", "--csv"]
    own, corpus = ["--target", str(model)], ["--target", target, "--draft", "suffix:corpus=corpus.txt"]
    for words, output, models, flag in (
        *((words, "model/config.json", own, "--target") for words in (generate, batch, measure)),
        (generate, "model/model.safetensors", ["--target", target, "--draft", f"tree:draft={model}"], "--draft"),
        (["serve", "--canary", "0.5", "--canary-log"], "model/tokenizer.json", own, "--target"),
        (["measure", "p.txt", "--journal"], "corpus.txt", corpus, "--draft"),
        (generate, "corpus.txt", ["--target", target, "--gamma", "replay:trace=corpus.txt"], "--gamma"),
    ):
        before = (tmp_path / output).read_bytes()
        done = run_here(*words, output, *models)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert f"is read for {flag}, and {words[-1].replace('-o', '--output')} would overwrite it" in done.stderr
        assert (tmp_path / output).read_bytes() == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("words", [("models",), ("plan", "--alpha", "0.8", "--cost-ratio", "0.1")])
def test_a_full_disk_is_one_line(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "minispec", *words]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr == "minispec: the output cannot be written (No space left on device). Send it elsewhere\n"


@pytest.mark.parametrize(
    "command", [("roofline", "--machine", "h100", "--batch"), ("bench", "--rows"), ("measure", "--draft")]
)
def test_an_empty_list(run_here: Run, command: tuple[str, ...]) -> None:
    done = run_here(*command, "")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "'' names nothing" in done.stderr


def test_a_nul_in_a_file_name(run_here: Run) -> None:
    done = run_here("generate", "the", "--trace", "a\0b")
    assert done.returncode == 2
    assert "names no file" in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_unbalanced_quote_in_a_set_of_options(run_here: Run) -> None:
    done = run_here("diff", '"', '"', "--prompt", "Once")
    assert done.returncode == 2
    assert "No closing quotation" in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_unknown_flag_in_a_set_of_options_leads_to_the_help_that_has_them(run_here: Run) -> None:
    done = run_here("diff", "--nonsense 3", "", "--prompt", "Once")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "No such option '--nonsense'" in done.stderr
    assert done.stderr.endswith("See `minispec generate --help`\n")


@pytest.mark.parametrize(
    "command",
    [
        ("diff", "deep.json", "deep.json"),
        ("generate", "Once", "--gamma", "replay:trace=deep.json"),
        ("serve", "canary", "deep.json"),
        ("measure", "prompts.txt", "--journal", "deep.json", "--max-tokens", "4"),
        ("replay", "deep.json"),
    ],
)
def test_json_that_is_nested_too_deeply_to_be_read(run_here: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "deep.json").write_text("[" * 100_000 + "\n", encoding="utf-8")
    (tmp_path / "prompts.txt").write_text("Once\n", encoding="utf-8")
    done = run_here(*command)
    assert done.returncode == 2, done.stderr[-400:]
    assert "deep.json" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [(), ("assignment",), ("experiment",)])
def test_a_group_alone_prints_its_help(run_here: Run, command: tuple[str, ...]) -> None:
    alone, asked = run_here(*command), run_here(*command, "--help")
    assert alone.returncode == 0
    assert alone.stderr == ""
    assert alone.stdout == asked.stdout
    assert len(alone.stdout.splitlines()) > 5


def test_prompts(run_here: Run, target: str, draft: str, tmp_path: Path) -> None:
    models = ("--target", target, "--draft", draft)
    refused(run_here, tmp_path, "", *models, says=("prompt is empty",))
    refused(run_here, tmp_path, "-", *models, stdin=b"", says=("prompt is empty",))
    refused(run_here, tmp_path, "-", *models, stdin=b"caf\xe9", says=("not UTF-8",))
    refused(run_here, tmp_path, "x" * 64, *models, says=("64 tokens", "Shorten it to 63"))
    refused(run_here, tmp_path, "x" * 1000, *models, says=("1000 tokens",))


def test_models(run_here: Run, target: str, draft: str, tmp_path: Path) -> None:
    refused(run_here, tmp_path, "the", "--target", "no/such/dir/at-all", says=("no/such/dir/at-all",))
    refused(run_here, tmp_path, "the", "--target", "targt-17m", says=("targt-17m", "Did you mean 'target-17m'?"))
    other = write_model(tmp_path / "other", tokenizer=byte_tokenizer((("o", "n"),)))
    refused(
        run_here, tmp_path, "the", "--target", target, "--draft", str(other), says=("different vocabularies", "--draft")
    )
    same_size = write_model(tmp_path / "same-size", tokenizer=byte_tokenizer((("o", "n"), ("a", "t"))))
    refused(
        run_here, tmp_path, "the", "--target", target, "--draft", str(same_size), says=("token 256 is b'th'", "b'on'")
    )
    mute = Path(shutil.copytree(target, tmp_path / "mute"))
    (mute / "tokenizer.json").write_text(EMPTY_TOKENIZER, encoding="utf-8")
    refused(run_here, tmp_path, "the", "--target", str(mute), "--draft", "none", says=("the tokenizer has no tokens",))
    cut = Path(shutil.copytree(target, tmp_path / "cut"))
    (cut / "model.safetensors").write_bytes((cut / "model.safetensors").read_bytes()[:-8])
    refused(run_here, tmp_path, "the", "--target", str(cut), says=("model.safetensors", "fetch it again"))


def test_the_trace_of_a_refused_run_is_not_written(run_here: Run, target: str, tmp_path: Path) -> None:
    refused(
        run_here, tmp_path, "", "--target", target, "--draft", "none", "--trace", "t.jsonl", says=("prompt is empty",)
    )


def test_training_a_draft_without_torch_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    words = ["train-draft", "--target", "target-17m", "--text", str(tmp_path / "text"), "-o", str(tmp_path / "draft")]
    with pytest.raises(MissingDependencyError) as error:
        cli.main(words, standalone_mode=False)
    assert str(error.value) == (
        "torch is not installed; train-draft needs it. Try: pip install '.[train]' in a clone of minispec"
    )
    assert not list(tmp_path.iterdir())
