"""``minispec batch`` as a user runs it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from minispec.cli.batch import Meter
from minispec.engine.batching.lines import Request
from minispec.engine.batching.results import Results
from minispec.engine.files import HeldFile
from minispec.errors import OutputError
from tests.cli.conftest import Run

LINES = [
    {"prompt": "the end", "max_tokens": 9},
    {"id": "second", "prompt": "them", "draft": "ngram", "temperature": 0, "fallback": "session", "max_tokens": 5},
    {"prompt": [1, 2, 3], "draft": None, "seed": 7, "stop": ["zz"], "max_tokens": 12, "gamma": "heuristic"},
    {"prompt": "then and", "verify": "match", "gamma": 2, "max_tokens": 8, "top_k": 3},
]


@pytest.fixture
def pair(target: str, draft: str) -> tuple[str, ...]:
    return ("--target", target, "--draft", draft, "--backend", "numba")


@pytest.fixture
def requests(tmp_path: Path) -> str:
    text = "\n\n".join(json.dumps(line) for line in LINES) + "\n"
    (tmp_path / "requests.jsonl").write_text(text, encoding="utf-8")
    return "requests.jsonl"


def read(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_key_tells_apart_what_changes_a_text_and_nothing_else() -> None:
    """Results are resumed by it: not of another draft, nor lost because a line has moved."""
    models = {"dtype": "auto", "fingerprints": {"target": "t", "small": "s", "large": "l"}}
    request = Request(1, "a", "the end", "small", {"gamma": 3, "seed": 1})
    other = [
        replace(request, draft="large"), replace(request, draft=None), replace(request, prompt="the"),
        replace(request, prompt=[1]), replace(request, options={"gamma": 3, "seed": 2}),
    ]  # fmt: skip
    keys = [each.key(models) for each in [request, *other]]
    keys += [
        request.key({**models, "dtype": "float32"}),
        request.key({**models, "fingerprints": {"target": "t", "small": "another"}}),
        request.key({**models, "fingerprints": {"target": "another", "small": "s"}}),
    ]
    assert len(set(keys)) == len(keys)
    bare = {"dtype": "auto", "fingerprints": {"target": "t"}}
    assert replace(request, draft="small").key(bare) != replace(request, draft="large").key(bare)
    same = [replace(request, line=7, id="b"), replace(request, options={"seed": 1, "gamma": 3})]
    assert {each.key(models) for each in same} == {request.key(models)}
    assert request.key({**models, "fingerprints": {"target": "t", "small": "s"}}) == request.key(models)


def test_each_line_is_what_generate_makes_of_it(
    run_here: Run, tmp_path: Path, requests: str, pair: tuple[str, ...]
) -> None:
    done = run_here("batch", requests, "-o", "out.jsonl", *pair, "--seed", "40")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "4 requests: " in done.stderr
    found = read(tmp_path / "out.jsonl")
    assert [line["id"] for line in found] == ["1", "second", "5", "7"]
    for i, (line, asked) in enumerate(zip(found, LINES, strict=True)):
        prompt = asked["prompt"]
        if not isinstance(prompt, str):
            continue
        flags = [f"--{key.replace('_', '-')}={value}" for key, value in asked.items() if key not in ("prompt", "id")]
        if "verify" not in asked:  # the default's texts are those of plain decoding
            flags = [flag for flag in flags if not flag.startswith("--draft")] + ["--draft", "none"]
        seed = [] if "seed" in asked else ["--seed", str(40 + i)]
        alone = run_here("generate", prompt, *pair, *seed, *flags, "--json")
        report = json.loads(alone.stdout)
        for key in ("text", "token_ids", "finish_reason", "stop", "guarantee"):
            assert line[key] == report[key], (asked, key)
        counted = report["metrics"]["num_accepted_tokens"] if "gamma" in asked else None  # else it follows time
        assert line["num_accepted_tokens"] == counted


def test_a_result_has_what_its_line_asked_for(run_here: Run, tmp_path: Path, pair: tuple[str, ...]) -> None:
    asked = [{"logprobs": True}, {}, {"gamma": "load"}, {"gamma": "budget"}]
    text = "\n".join(json.dumps({"prompt": "the", "max_tokens": 4, **options}) for options in asked)
    (tmp_path / "r.jsonl").write_text(text, encoding="utf-8")
    assert run_here("batch", "r.jsonl", "-o", "out.jsonl", *pair).returncode == 0
    found = read(tmp_path / "out.jsonl")
    report = json.loads(run_here("generate", "the", "--max-tokens", "4", "--verify", "gumbel", *pair, "--json").stdout)
    assert [line.get("token_details") for line in found] == [report["token_details"], None, None, None]
    assert [line["reproducible"] for line in found] == [True, True, False, False]


def test_the_file_is_the_same_in_any_company(
    run_here: Run, tmp_path: Path, requests: str, pair: tuple[str, ...]
) -> None:
    for name, *flags in (
        ("a",),
        ("b", "--concurrency", "1"),
        ("c", "--concurrency", "3", "--page-size", "4", "--kv-memory", "20KB"),
    ):
        assert run_here("batch", requests, "-o", name, *pair, *flags).returncode == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == (tmp_path / "c").read_bytes()


def test_an_interrupted_run_is_gone_on_with(
    run_here: Run, tmp_path: Path, requests: str, pair: tuple[str, ...]
) -> None:
    command = ("batch", requests, "-o", "out.jsonl", *pair)
    assert run_here(*command).returncode == 0
    output = tmp_path / "out.jsonl"
    whole = output.read_bytes()
    for cut in (0, 10, len(whole) // 2, len(whole) - 1, len(whole)):
        output.write_bytes(whole[:cut])
        done = run_here(*command)
        assert done.returncode == 0, done.stderr
        assert output.read_bytes() == whole
    assert "4 of 4 lines are in out.jsonl already" in done.stderr
    refused = run_here(*command, "--seed", "1")
    assert refused.returncode == 2
    assert "line 1 of out.jsonl is not the result of line 1" in refused.stderr
    (tmp_path / requests).write_text(json.dumps(LINES[0]) + "\n", encoding="utf-8")
    assert "out.jsonl has 4 lines, and there are 1 requests" in run_here(*command).stderr
    assert output.read_bytes() == whole


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends SIGKILL")
def test_a_killed_run_loses_and_doubles_nothing(tmp_path: Path, pair: tuple[str, ...], run_here: Run) -> None:
    lines = [{"prompt": "the end", "max_tokens": 20 + i % 7, "seed": i} for i in range(300)]
    (tmp_path / "many.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    command = [sys.executable, "-m", "minispec", "batch", "many.jsonl", "-o", "out.jsonl", *pair, "--concurrency", "4"]
    output, kills = tmp_path / "out.jsonl", 0
    for _ in range(50):
        before = len(output.read_bytes()) if output.exists() else 0
        process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
        while process.poll() is None and (len(output.read_bytes()) if output.exists() else 0) < before + 4000:
            time.sleep(0.005)
        if process.poll() is not None:
            break
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
    assert kills > 2
    assert process.returncode == 0
    assert run_here("batch", "many.jsonl", "-o", "at-once.jsonl", *pair).returncode == 0
    assert output.read_bytes() == (tmp_path / "at-once.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("content", "arguments", "complaint"),
    [
        ("", (), "has no lines"),
        ("{]", (), "line 1 of r.jsonl: no JSON"),
        ('{"prompt": "a"}\n[1]', (), "line 2 of r.jsonl: '[1]' is no object"),
        ('{"prompt": "a"}\n\n{"text": "a"}', (), "line 3 of r.jsonl: no key \"prompt\"; the line has 'text'"),
        ('{"prompt": "a", "gama": 2}', (), "line 1 of r.jsonl: 'gama' is no key of a request; they are id, prompt"),
        ('{"prompt": "a", "max_tokens": 2, "max_tokens": 3}', (), 'line 1 of r.jsonl: key "max_tokens" is there more'),
        ('{"prompt": 3}', (), "line 1 of r.jsonl: prompt is 3; it is a text, or a list of token ids"),
        ('{"prompt": "\\ud800"}', (), "half a surrogate pair"),
        ('{"prompt": "a", "id": []}', (), "line 1 of r.jsonl: id is []; it is a text or a number"),
        ('{"prompt": "a", "draft": 3}', (), "line 1 of r.jsonl: draft is 3; it is a text"),
        ('{"prompt": "a", "temperature": "hot"}', (), "line 1 of r.jsonl: temperature is"),
        ('{"prompt": "a", "top_k": true}', (), "line 1 of r.jsonl: top_k is true; it must be a whole number"),
        ('{"prompt": "a", "max_tokens": "3"}', (), 'max_tokens is "3"; it must be a whole number'),
        ('{"prompt": "a", "min_p": null}', (), "line 1 of r.jsonl: min_p is null; it must be a number"),
        ('{"prompt": "a", "gamma": 1.5}', (), "line 1 of r.jsonl: gamma is 1.5; it must be a whole number or a text"),
        ('{"prompt": "a", "stop": 3}', (), "line 1 of r.jsonl: stop is 3; it must be a text or a list of texts"),
        ('{"prompt": "a", "regex": 3}', (), "line 1 of r.jsonl: regex is 3; it must be a text or null"),
        ('{"prompt": "a", "audit": 1}', (), "line 1 of r.jsonl: audit is 1; it must be true or false"),
        ('{"prompt": "a", "max_tokens": 3, "min_tokens": 9}', (), "min_tokens is 9 and max_tokens 3; the first"),
        ('{"prompt": "a", "max_tokens": -3}', (), 'max_tokens is -3; it must be >= 0. Try "max_tokens": 128'),
        ('{"prompt": "a", "seed": 1}', ("--max-tokens", "-3"), "max-tokens is -3; it must be >= 0. Try --max-tokens"),
        ('{"prompt": "a", "json_schema": {"type": "object"}}', (), 'json_schema is {"type": "object"}; it must be'),
        ('{"prompt": "a", "gamma": "lod"}', (), "auto, replay, load, budget. Did you mean 'load'?"),
        ('{"prompt": "a"}', ("--gamma", "lod"), "auto, replay, load, budget. Did you mean 'load'?"),
        ('{"prompt": "a", "gamma": "load:x=1"}', (), 'load takes no options. Try "gamma": "load"'),
        ('{"prompt": "a", "temperature": -1}', (), "line 1 of r.jsonl: temperature is -1"),
        ('{"prompt": "a", "gamma": -1}', (), "line 1 of r.jsonl: gamma is -1"),
        ('{"prompt": "a", "draft": "ngrm"}', (), "line 1 of r.jsonl: "),
        ('{"prompt": "a", "stop": [3]}', (), "line 1 of r.jsonl: a stop string is 3; it must be text"),
        ("[" * 100_000, (), "line 1 of r.jsonl: no JSON"),
        ('{"prompt": "a"}', ("-o", os.devnull), f"'{os.devnull}' is a pipe or a device"),
        ('{"prompt": "a"}', ("-o", "-"), "'-' is no file, and standard output has what the command prints"),
        ('{"prompt": ""}', (), "line 1 of r.jsonl: the prompt is empty"),
        (json.dumps({"prompt": "x" * 100}), (), "line 1 of r.jsonl: the prompt has 100 tokens"),
        ('{"prompt": "a", "id": 1}\n{"prompt": "b", "id": "1"}', (), "line 2 of r.jsonl: id '1' is that of line 1 too"),
        (
            '{"prompt": "a", "id": "2"}\n{"prompt": "b"}',
            (),
            "line 2 of r.jsonl: a line without an id goes by its number, and id '2' is that of line 1 too; give each",
        ),
        ('{"prompt": "a"}', ("--kv-memory", "0"), "'0' is no size"),
        ('{"prompt": "a"}', ("--kv-memory", "1TB"), "with kB, MB, GB, KiB, MiB or GiB if you like"),
        ('{"prompt": "a"}', ("--concurrency", str(10**12)), "of memory. Run fewer requests at a time"),
        ('{"prompt": "a"}', ("--kv-memory", "900000GB"), "of memory. Run fewer requests at a time"),
        ('{"prompt": "a"}', ("--kv-memory", "100"), "--kv-memory is 100 bytes; one page of 16 slots"),
        ('{"prompt": "a", "max_tokens": 40}', ("--kv-memory", "4KiB"), "line 1 of r.jsonl: the request may need"),
        ('{"prompt": "a"}', ("-o", "nowhere/out.jsonl"), "does not exist"),
        ('{"prompt": "a"}', ("-o", "."), "is a folder"),
        ('{"prompt": "a"}', ("-o", "r.jsonl"), "'r.jsonl' is both REQUESTS and --output"),
        ('{"prompt": "a"}', ("--on", "slurm"), "dask:ADDRESS"),
        ('{"prompt": "a"}', ("--on", "dask"), "DASK_SCHEDULER_ADDRESS"),
        ('{"prompt": "a"}', ("--concurrency", "0"), "0"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    run_here: Run, tmp_path: Path, pair: tuple[str, ...], content: str, arguments: tuple[str, ...], complaint: str
) -> None:
    (tmp_path / "r.jsonl").write_text(content, encoding="utf-8")
    done = run_here("batch", "r.jsonl", *(() if "-o" in arguments else ("-o", "out.jsonl")), *pair, *arguments)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["r.jsonl"]
    assert (tmp_path / "r.jsonl").read_text(encoding="utf-8") == content


def test_a_byte_order_mark_is_no_fault(run_here: Run, tmp_path: Path, pair: tuple[str, ...]) -> None:
    (tmp_path / "r.jsonl").write_text('{"prompt": "a", "max_tokens": 2, "top_p": 1}\n', encoding="utf-8-sig")
    done = run_here("batch", "r.jsonl", "-o", "out.jsonl", *pair)
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()) == 1


def test_every_bad_line_is_named(run_here: Run, tmp_path: Path, pair: tuple[str, ...]) -> None:
    (tmp_path / "r.jsonl").write_text('{"prompt": "a"}\n3\n{"prompt": ""}\n', encoding="utf-8")
    done = run_here("batch", "r.jsonl", "-o", "out.jsonl", *pair)
    assert done.returncode == 2
    assert [number for number in "23" if f"line {number} of r.jsonl: " in done.stderr] == ["2", "3"]
    assert not (tmp_path / "out.jsonl").exists()


def test_good_lines_run_beside_bad_ones_if_asked_to(run_here: Run, tmp_path: Path, pair: tuple[str, ...]) -> None:
    lines = ('{"prompt": "a", "max_tokens": 3}', "3", '{"id": "x", "prompt": "", "gamma": true}', '{"prompt": "b"}')
    (tmp_path / "r.jsonl").write_text("\n".join(lines), encoding="utf-8")
    command = ("batch", "r.jsonl", "-o", "out.jsonl", *pair, "--keep-going")
    done = run_here(*command)
    assert done.returncode == 2
    assert "2 of 4 lines of r.jsonl could not be used; the first is line 2: '3' is no object" in done.stderr
    found = read(tmp_path / "out.jsonl")
    assert ["error" in line for line in found] == [False, True, True, False]
    assert [(line["id"], line["line"]) for line in found[1:3]] == [(None, 2), ("x", 3)]
    again = (tmp_path / "out.jsonl").read_bytes()
    assert run_here(*command).returncode == 2
    assert (tmp_path / "out.jsonl").read_bytes() == again


ENDLESS = {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}
HUNGRY = {"prompt": [1] * 30, "json_schema": json.dumps(ENDLESS), "max_tokens": 8}  # more than the library follows


def test_a_request_that_fails_while_it_runs_names_its_line(
    run_here: Run, tmp_path: Path, pair: tuple[str, ...]
) -> None:
    lines = ({"prompt": "a", "max_tokens": 3}, HUNGRY, {"prompt": "b", "max_tokens": 3})
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    command = ("batch", "r.jsonl", "-o", "out.jsonl", *pair)
    done = run_here(*command)
    assert done.returncode == 2
    assert "minispec: line 2: the JSON schema" in done.stderr
    assert "goes on from there" not in done.stderr
    done = run_here(*command, "--keep-going")
    assert done.returncode == 2
    assert "1 of 3 lines of r.jsonl could not be used; the first is line 2: the JSON schema" in done.stderr
    assert ["error" in line for line in read(tmp_path / "out.jsonl")] == [False, True, False]
    again = (tmp_path / "out.jsonl").read_bytes()
    assert run_here(*command, "--keep-going").returncode == 2, "what failed has not become right"
    assert (tmp_path / "out.jsonl").read_bytes() == again


@pytest.mark.parametrize("other", ["target", "draft"])
def test_a_file_of_other_weights_is_not_gone_on_with(
    run_here: Run, tmp_path: Path, requests: str, target: str, draft: str, other: str
) -> None:
    """The names are the same, and the models are not."""
    for name, folder in (("target", target), ("draft", draft)):
        shutil.copytree(folder, tmp_path / name)
    command = ("batch", requests, "-o", "out.jsonl", "--target", "./target", "--draft", "./draft", "--backend", "numba")
    assert run_here(*command).returncode == 0
    assert run_here(*command).returncode == 0
    halves = run_here(*command, "--kv-dtype", "float16")
    assert "is not the result of line 1: prompt, options, models" in halves.stderr
    change_weights(tmp_path / other / "model.safetensors")
    done = run_here(*command)
    assert done.returncode == 2
    assert "is not the result of line 1: prompt, options, models" in done.stderr


def change_weights(file: Path) -> None:
    """Change what neither the final norm nor a position shows."""
    tensors = load_file(file)
    name = next(name for name in tensors if name.endswith("h.0.attn.c_attn.weight"))
    save_file({**tensors, name: tensors[name] * np.float32(1.5)}, file)


@pytest.mark.parametrize(
    ("file", "flags"),
    [
        ("a.txt", ("--draft", "bigram:text=a.txt")),
        ("a.txt", ("--draft", "suffix:corpus=a.txt")),
        ("t.jsonl", ("--draft", "ngram", "--gamma", "replay:trace=t.jsonl")),
    ],
)
def test_a_file_of_other_texts_is_not_gone_on_with(
    run_here: Run, tmp_path: Path, target: str, file: str, flags: tuple[str, ...]
) -> None:
    """What a draft or a length reads decides the text where the rule is not that of equal noise."""
    (tmp_path / "a.txt").write_text("the end", encoding="utf-8")
    trace = run_here("generate", "the the the", "--target", target, "--draft", "ngram", "--trace", "t.jsonl")
    assert trace.returncode == 0, trace.stderr
    (tmp_path / "r.jsonl").write_text('{"prompt": "the the"}\n{"prompt": "a", "draft": "none"}', encoding="utf-8")
    command = ("batch", "r.jsonl", "-o", "out.jsonl", "--target", target, *flags, "--verify", "rejection")
    assert run_here(*command).returncode == 0
    assert "2 of 2 lines are in out.jsonl already" in run_here(*command).stderr
    path = tmp_path / file
    path.write_bytes(path.read_bytes().replace(*((b"the", b"and") if file == "a.txt" else (b":", b": ")), 1))
    done = run_here(*command)
    assert done.returncode == 2
    assert "is not the result of line 1: prompt, options, models" in done.stderr


def test_what_was_not_written_does_not_count(tmp_path: Path) -> None:
    class Full(HeldFile):
        def write(self, text: str) -> None:
            raise OutputError("no room")

    request = Request(1, "1", "a", None, {})
    with Full(tmp_path / "out.jsonl") as file:
        results = Results(file, [request], {})
        with pytest.raises(OutputError, match="no room"):
            results.add(1, {"id": "1"})
        assert results.num_written == 0
    with HeldFile(tmp_path / "out.jsonl") as file:
        results = Results(file, [request], {})
        results.add(1, {"id": "1"})
        assert results.num_written == 1


def test_a_line_ends_where_json_says_it_does(run_here: Run, tmp_path: Path, pair: tuple[str, ...]) -> None:
    """Not at the separators that ``str.splitlines`` knows besides: a prompt, an id and a text may hold them."""
    lines = [{"id": "a\u2028b", "prompt": "the\u2028end\x85", "max_tokens": 2}, {"prompt": "them", "max_tokens": 2}]
    text = "\r\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    (tmp_path / "in.jsonl").write_bytes(text.encode())
    for _ in range(2):  # the second run reads what the first has written
        done = run_here("batch", "in.jsonl", "-o", "out.jsonl", *pair)
        assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").split("\n")[:-1]]
    assert [line["id"] for line in found] == ["a\u2028b", "2"]


@pytest.mark.slow
def test_lines_on_a_dask_cluster_are_those_of_one_process(
    run: Run, tmp_path: Path, requests: str, pair: tuple[str, ...]
) -> None:
    distributed = pytest.importorskip("dask.distributed")
    assert run("batch", requests, "-o", "here.jsonl", *pair).returncode == 0
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        address = cluster.scheduler_address
        done = run("batch", requests, "-o", "there.jsonl", *pair, "--concurrency", "1", "--on", f"dask:{address}")
        assert done.returncode == 0, done.stderr
        assert "4 requests: " in done.stderr
        done = run("batch", requests, "-o", "again.jsonl", *pair, "--on", "dask", DASK_SCHEDULER_ADDRESS=address)
        assert done.returncode == 0, done.stderr
    wanted = (tmp_path / "here.jsonl").read_bytes()
    assert (tmp_path / "there.jsonl").read_bytes() == (tmp_path / "again.jsonl").read_bytes() == wanted
    refused = run("batch", requests, "-o", "new.jsonl", *pair, "--on", "dask:tcp://127.0.0.1:9")
    assert refused.returncode == 2
    assert "no Dask scheduler" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    assert not (tmp_path / "new.jsonl").exists()


@pytest.mark.parametrize(
    ("follows", "way_out"), [(True, "Try --draft none"), (False, "Try --gamma load, or --draft none")]
)
def test_a_loss_is_told_with_a_way_out_that_is_not_taken_already(follows: bool, way_out: str) -> None:
    meter = Meter(SimpleNamespace(load=SimpleNamespace(speedup=0.5)), follows_load=follows)
    assert meter.verdict() == ""  # nothing was drafted
    meter.note_result({"num_tokens": 4, "num_draft_tokens": 3, "num_accepted_tokens": 1})
    assert meter.verdict() == f"; drafts: about 0.50x plain decoding, a loss. {way_out}"
