"""Rules, drafts and policies as the command offers them: each runs, and says what it promises."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

TOKENS = ("--max-tokens", "20", "--seed", "5")


@pytest.fixture
def run(run_here: Run) -> Run:
    """Run in this process; tests/cli/test_generate.py starts the command as a user does."""
    return run_here


def report(run: Run, *arguments: str, **environment: str) -> dict[str, Any]:
    done = run("generate", "the cat the cat the", *TOKENS, *arguments, "--json", **environment)
    assert done.returncode == 0, done.stderr
    loaded: dict[str, Any] = json.loads(done.stdout)
    return loaded


@pytest.mark.parametrize(
    ("rule", "greedy", "sampled"),
    [
        ("rejection", "bit-exact", "same-distribution"),
        ("match", "bit-exact", "same-seed"),
        ("gumbel", "bit-exact", "same-seed"),
        ("block", "bit-exact", "same-distribution"),
        ("tree", "bit-exact", "same-distribution"),
        ("kseq", "bit-exact", "same-distribution"),
        ("traversal", "bit-exact", "same-distribution"),
        ("lenient:lenience=0.5", "lossy", "lossy"),
        ("typical", "lossy", "lossy"),
    ],
)
def test_each_rule_says_what_it_promises_and_keeps_it(
    run: Run, target: str, draft: str, rule: str, greedy: str, sampled: str
) -> None:
    pair = ("--target", target, "--draft", draft, "--verify", rule, "--backend", "numba")
    plain = ("--target", target, "--draft", "none", "--backend", "numba")
    for temperature, promise in (("0", greedy), ("1", sampled)):
        told = report(run, *pair, "--temperature", temperature)
        assert told["guarantee"] == promise
        if promise in ("bit-exact", "same-seed"):
            assert told["token_ids"] == report(run, *plain, "--temperature", temperature)["token_ids"]


def test_a_backend_that_is_not_batch_invariant_promises_less(run: Run, target: str, draft: str) -> None:
    pair = ("--target", target, "--draft", draft, "--backend", "numpy")
    assert report(run, *pair, "--temperature", "0")["guarantee"] == "same-distribution"
    assert report(run, *pair, "--verify", "gumbel")["guarantee"] == "same-distribution"


@pytest.mark.parametrize(
    "kind",
    ["ngram:n=2", "suffix", "layerskip:k=1", "self:dtype=int8", "synthetic:alpha=0.9,cost=0.05", "unigram:text=t.txt",
     "bigram:text=t.txt", "cascade:draft=DRAFT", "tree:draft=DRAFT,shape=2x2"],
)  # fmt: skip
def test_each_kind_of_draft_leaves_greedy_text_alone(
    run: Run, target: str, draft: str, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "t.txt").write_text("the cat the cat sat on the mat\n" * 20, encoding="utf-8")
    base = ("--target", target, "--backend", "numba", "--temperature", "0")
    rule = "tree" if kind.startswith("tree") else "rejection"
    told = report(run, *base, "--draft", kind.replace("DRAFT", draft), "--verify", rule)
    assert told["token_ids"] == report(run, *base, "--draft", "none")["token_ids"]
    assert told["metrics"]["num_draft_tokens"] > 0
    if kind.startswith("synthetic"):
        assert told["metrics"]["costs"]["cost_ratio"] == 0.05


@pytest.mark.parametrize("gamma", ["0", "2", "heuristic", "confidence:threshold=0.1", "auto", "auto:largest=3"])
def test_each_policy_runs_and_timed_ones_admit_it(run: Run, target: str, draft: str, gamma: str) -> None:
    told = report(run, "--target", target, "--draft", draft, "--gamma", gamma)
    assert told["reproducible"] == (not gamma.startswith("auto"))
    assert max(told["draft_lengths"]) <= {"0": 0, "2": 2, "auto:largest=3": 3}.get(gamma, 99)
    greedy = report(
        run, "--target", target, "--draft", draft, "--gamma", gamma, "--temperature", "0", "--backend", "numba"
    )
    assert greedy["reproducible"]


def test_a_timed_run_can_be_replayed_from_its_trace(run: Run, target: str, draft: str) -> None:
    pair = ("--target", target, "--draft", draft, "--temperature", "1.5")
    timed = report(run, *pair, "--gamma", "auto", "--fallback", "request", "--trace", "run.jsonl")
    again = report(run, *pair, "--gamma", "replay:trace=run.jsonl")
    assert not timed["reproducible"]
    assert again["reproducible"]
    assert again["draft_lengths"] == timed["draft_lengths"]
    assert again["token_ids"] == timed["token_ids"]


def test_details_per_token_are_the_targets(run: Run, target: str, draft: str) -> None:
    told = report(run, "--target", target, "--draft", draft, "--gamma", "3")
    assert len(told["token_details"]) == len(told["token_ids"])
    for detail, source in zip(told["token_details"], told["sources"], strict=True):
        assert detail["logprob"] <= 0.0
        assert (detail["draft_prob"] is not None) == (source == "accepted")
        if source == "accepted":
            ratio = min(1.0, detail["target_prob"] / detail["draft_prob"])
            assert detail["accept_prob"] == pytest.approx(ratio, rel=1e-12)  # the same two doubles divided


def test_the_form_of_the_text_is_kept(run: Run, target: str, draft: str) -> None:
    pair = ("--target", target, "--draft", draft, "--temperature", "2")
    told = report(run, *pair, "--regex", "(the|cat|dog)( (the|cat|dog)){2}")
    assert told["finish_reason"] == "eos"
    assert re.fullmatch("(the|cat|dog)( (the|cat|dog)){2}", told["text"])
    properties = {"n": {"enum": [1, 2, 3]}}
    schema = json.dumps({"type": "object", "properties": properties, "required": ["n"], "additionalProperties": False})
    told = report(run, *pair, "--json-schema", schema, "--draft", "ngram")
    assert json.loads(told["text"])["n"] in (1, 2, 3)


def test_a_minimum_length_is_kept(run: Run, target: str, draft: str) -> None:
    told = report(run, "--target", target, "--draft", draft, "--temperature", "5", "--min-tokens", "18")
    assert len(told["token_ids"]) >= 18


def test_an_audited_run_is_the_same_run(run: Run, target: str, draft: str) -> None:
    pair = ("--target", target, "--draft", draft)
    assert report(run, *pair, "--audit")["token_ids"] == report(run, *pair)["token_ids"]


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--verify", "guess"], ("guess", "rejection", "Try --verify")),
        (["--verify", "lenient:lenience=2"], ("lenience is 2", "(0, 1]")),
        (["--draft", "ngram:n=0"], ("n is 0", "Try")),
        (["--draft", "ngram:m=3"], ("m=3", "Try ngram")),
        (["--draft", "layerskip:k=2"], ("k is 2", "layerskip:k=1")),
        (["--draft", "tree:draft=DRAFT"], ("tree", "chains", "--verify tree")),
        (["--draft", "tree:draft=DRAFT", "--verify", "kseq"], ("depend on each other", "siblings=with")),
        (
            ["--draft", "tree:draft=DRAFT,shape=dynamic,siblings=with", "--verify", "kseq"],
            ("depend on each other", "shape=4x2x1,siblings=with", "--verify tree"),
        ),
        (["--draft", "tree:draft=DRAFT", "--verify", "tree", "--gamma", "confidence"], ("shape of its own", "gamma 3")),
        (["--draft", "unigram"], ("text is missing",)),
        (["--draft", "unigram:text=nowhere.txt"], ("nowhere.txt",)),
        (["--gamma", "sometimes"], ("sometimes", "heuristic")),
        (["--gamma", "confidence:threshold=7"], ("threshold is 7",)),
        (["--gamma", "replay:trace=nowhere.jsonl"], ("nowhere.jsonl",)),
        (["--fallback", "never"], ("never", "request")),
        (["--regex", "("], ("regular expression", "cannot be used")),
        (["--regex", "a", "--json-schema", "{}"], ("one form",)),
        (["--repetition-penalty", "0"], ("repetition-penalty is 0.0",)),
        (["--repetition-penalty", "5e-324"], ("repetition-penalty is 5e-324", "1e-06")),
        (["--presence-penalty", "-1e308"], ("presence-penalty is -1e+308", "1e+06")),
        (["--frequency-penalty", "nan"], ("frequency-penalty is nan",)),
    ],
)
def test_combinations_that_cannot_work_name_one_that_does(
    run: Run, target: str, draft: str, tmp_path: Path, flags: list[str], says: tuple[str, ...]
) -> None:
    flags = [flag.replace("DRAFT", draft) for flag in flags]
    draft_flags = () if "--draft" in flags else ("--draft", draft)
    done = run("generate", "the", "--target", target, *draft_flags, *flags)
    assert done.returncode == 2, done.stdout
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    for words in says:
        assert words in done.stderr, done.stderr


def test_diff_finds_where_runs_part_and_why(run: Run, target: str, draft: str, tmp_path: Path) -> None:
    base = f"--target {target} --max-tokens 20 --backend numba"
    same = run(
        "diff", f"{base} --draft {draft} --temperature 0", f"{base} --draft none --temperature 0", "--prompt", "t"
    )
    assert same.returncode == 0, same.stderr
    assert same.stdout == "no difference in 20 tokens\n"
    halves = f"{base} --temperature 0 --kv-dtype float16"
    same = run("diff", f"{halves} --draft {draft}", f"{halves} --draft none", "--prompt", "t")
    assert same.stdout == "no difference in 20 tokens\n", same.stderr
    other = run("diff", f"{base} --draft none --seed 1", f"{base} --draft none --seed 2", "--prompt", "t", "--json")
    assert json.loads(other.stdout)["cause"] == "another draw"
    files = []
    for name, flags in (("a", ["--temperature", "0"]), ("b", ["--temperature", "0", "--draft", "ngram"])):
        done = run(
            "generate", "t", *base.split(), *flags, "--json", *([] if "--draft" in flags else ["--draft", "none"])
        )
        told = json.loads(done.stdout)
        if name == "b":
            told["token_ids"][7] = (told["token_ids"][7] + 1) % 256  # a forged bug
            del told["options"]["kv_dtype"]  # as a report of an earlier version
        (tmp_path / f"{name}.json").write_text(json.dumps(told), encoding="utf-8")
        files.append(f"{name}.json")
    forged = run("diff", *files)
    assert "first difference at generated token 7: bug" in forged.stdout
    assert "margin" in forged.stdout
    assert run("diff", "a.json", "nowhere.json").returncode == 2


@pytest.mark.parametrize("options", [{}, {"target": "target-17m"}, 3, None])
def test_diff_refuses_a_report_without_its_options(run_here: Run, tmp_path: Path, options: object) -> None:
    report = {"options": options, "prompt": "a", "token_ids": [1], "guarantee": "bit-exact"}
    (tmp_path / "a.json").write_text(json.dumps(report), encoding="utf-8")
    done = run_here("diff", "a.json", "a.json")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("minispec: a.json is no report of a run (")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"prompt": 5}, "prompt is 5; it must be a text"),
        ({"prompt": ""}, "prompt is empty"),
        ({"guarantee": ["bit-exact"]}, "guarantee is ['bit-exact']; it must be a text"),
        ({"token_ids": 5}, "token_ids is 5; it must be a list of whole numbers from 0 on"),
        ({"token_ids": "ab"}, "token_ids is 'ab'"),
        ({"token_ids": ["a"]}, "token_ids is ['a']"),
        ({"token_ids": [1.5]}, "token_ids is [1.5]"),
        ({"token_ids": [True]}, "token_ids is [True]"),
        ({"token_ids": [-1]}, "token_ids is [-1]"),
        ({"token_ids": [999]}, "it has token id 999; ids go from 0 to 258). Write one"),
        ({"token_ids": [1] * 64}, "it has 64 tokens; after its prompt there is room for 63). Write one"),
        ({"options": {"temperature": "hot"}}, "temperature is 'hot'; it must be a number from 0 on"),
        ({"options": {"temperature": True}}, "temperature is True"),
        ({"options": {"target": 5}}, "target is 5; it must be a text"),
        ({"options": {"backend": ["numpy"]}}, "backend is ['numpy']"),
    ],
)
def test_diff_refuses_a_report_with_values_that_no_run_has(
    run_here: Run, target: str, tmp_path: Path, change: dict[str, Any], says: str
) -> None:
    report = json.loads(run_here("generate", "t", "--target", target, "--draft", "none", "--json").stdout)
    assert len(report["token_ids"]) == 63, "a run that fills the context is none of them"
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text(json.dumps(report), encoding="utf-8")
        report = report | change | {"options": report["options"] | change.get("options", {})}
    for files in (("a.json", "b.json"), ("b.json", "a.json"), ("b.json", "b.json")):
        done = run_here("diff", *files)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1
        assert says in done.stderr or "compare like with like" in done.stderr
    assert says in done.stderr
    assert run_here("diff", "a.json", "a.json").stdout == "no difference in 63 tokens\n"


def test_diff_says_that_a_run_was_cut(run_here: Run, target: str, tmp_path: Path) -> None:
    base = f"--target {target} --draft none --temperature 0"
    long, short = f"{base} --max-tokens 9", f"{base} --max-tokens 5"
    cut = run_here("diff", short, long, "--prompt", "t")
    assert "generated token 5: cut short" in cut.stdout, cut.stderr
    other = run_here("diff", long, f"{long} --frequency-penalty 100", "--prompt", "t", "--json")
    assert json.loads(other.stdout)["cause"] == "other options"
    unlike = run_here("diff", long, f"{long} --kv-dtype float16", "--prompt", "t")
    assert unlike.returncode == 2
    assert "different kv_dtypes, 'float32' and 'float16'; compare like with like" in unlike.stderr


@pytest.mark.parametrize("prompt", ["- the", "--draft"])
def test_diff_reads_its_prompt_once_and_takes_it_for_no_flag(run_here: Run, target: str, prompt: str) -> None:
    runs = [f"--target {target} --draft none --temperature {temperature} --max-tokens 9" for temperature in (0, 1)]
    told = run_here("diff", *runs, "--prompt", prompt, "--json")
    assert told.returncode == 0, told.stderr
    assert run_here("diff", *runs, "--prompt", "-", "--json", stdin=f"{prompt}\n".encode()).stdout == told.stdout
    assert run_here("diff", *runs, "--prompt", "-x", "--json").stdout != told.stdout


@pytest.mark.parametrize(
    ("a", "b", "complaint"),
    [
        ("--draft none --stop", "", "requires an argument"),
        ("--trace x", "", "--trace does not change what is generated"),
        ("--min-tokens 9 --max-tokens 3", "", "min-tokens is 9 and max-tokens 3"),
        ("", "--quiet", "--quiet does not change what is generated"),
        ("a.json", "b.json", "'a.json' is no set of options, and --prompt is for those. Leave --prompt out"),
    ],
)
def test_diff_ignores_nothing(run_here: Run, a: str, b: str, complaint: str) -> None:
    done = run_here("diff", a, b, "--prompt", "Once")
    assert done.returncode == 2
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1
