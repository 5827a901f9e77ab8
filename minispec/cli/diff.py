"""``minispec diff``: where two runs part ways, and why."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from minispec.cli.generate import generate, read_prompt
from minispec.cli.pair import Pair
from minispec.cli.sections import Command
from minispec.engine.backends import GPU_BACKENDS
from minispec.engine.backends.formats import KV_DTYPES
from minispec.engine.loading import load_model
from minispec.errors import InputError, OptionError, explain, quote
from minispec.lab.explain.divergence import diverge

_EXPECT_EQUAL = ("bit-exact", "same-seed")
_ENDS = ("max_tokens", "stop")
_COMPARED = {"target", "backend", "dtype", "temperature", *_ENDS}


@click.command(cls=Command, context_settings={"ignore_unknown_options": True})
@click.argument("a")
@click.argument("b")
@click.option("--prompt", help="The text to continue, if A and B are options.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def diff(a: str, b: str, prompt: str | None, as_json: bool) -> None:
    """Find the first token at which two runs differ, and say why.

    It is a tie, a rounding, another draw, other options, an earlier end ("cut short"), or a bug.

    A and B are files written by `minispec generate --json`, or option sets for two runs to make now:

        minispec diff "--gamma 3 --temperature 0" "--draft none --temperature 0" --prompt "Once upon a time"
    """
    if prompt is None:
        runs = [_read_report(which) for which in (a, b)]
    else:
        chosen = [_parse_options(which) for which in (a, b)]
        text = read_prompt(prompt)  # once: a second read of standard input finds nothing
        runs = [Pair.load(options, Console(stderr=True)).start(text).run().to_dict() for options in chosen]
    first, second = (run["options"] for run in runs)
    loading = "target", "backend", "dtype", "kv_dtype"
    for what in loading:
        if first[what] != second[what]:
            raise OptionError(
                f"the runs have different {what}s, {first[what]!r} and {second[what]!r}; compare like with like"
            )
    if runs[0]["prompt"] != runs[1]["prompt"]:
        raise OptionError("the runs have different prompts; compare like with like")
    target = load_model(*(first[what] for what in loading))
    assert target.tokenizer is not None  # the runs have text
    found = diverge(
        target,
        target.tokenizer.encode_prompt(runs[0]["prompt"]),
        runs[0]["token_ids"],
        runs[1]["token_ids"],
        expected_equal=_promise_equal(runs),
        same_end=all(first[name] == second[name] for name in _ENDS),
        drawn=any(run["options"]["temperature"] > 0 for run in runs),
    )
    if as_json:
        click.echo(json.dumps(None if found is None else asdict(found)))
        return
    if found is None:
        click.echo(f"no difference in {len(runs[0]['token_ids'])} tokens")
        return

    def show(token: int | None) -> str:
        return "the end" if token is None else f"{token} {target.tokenizer.decode([token])!r}"  # type: ignore[union-attr]

    (likeliest, logit), (runner_up, other) = found.top2
    out = Console(highlight=False)
    out.print(f"first difference at generated token {found.position}: {found.cause}", markup=False)
    out.print(f"  A has {show(found.tokens[0])}, B has {show(found.tokens[1])}", markup=False)
    out.print(f"  target's likeliest:  {show(likeliest)}, logit {logit:.6f}", markup=False)
    out.print(f"  and its runner-up:   {show(runner_up)}, logit {other:.6f}", markup=False)
    out.print(f"  margin {found.margin:.3g}", markup=False)


def _promise_equal(runs: list[dict[str, Any]]) -> bool:
    """Whether what both runs promise makes their tokens equal: greedy both, or tied to the same seed and options."""
    if any(run["guarantee"] not in _EXPECT_EQUAL for run in runs):
        return False
    free = {"target", "draft", "draft_dtype", "gamma", "fallback", "verify", "logprobs", "audit", *_ENDS}
    if all(run["guarantee"] == "bit-exact" for run in runs):
        free.add("seed")
    first, second = ({key: value for key, value in run["options"].items() if key not in free} for run in runs)
    return first == second


def _parse_options(which: str) -> dict[str, Any]:
    """Return the options of a run to make now."""
    try:
        flags = shlex.split(which)
    except ValueError as error:  # a quote or an escape without its end
        raise OptionError(f"{which!r} is no set of options ({error}). Try '--gamma 3 --temperature 0'") from None
    if flags and not flags[0].startswith("-"):
        raise OptionError(f"{quote(which)} is no set of options, and --prompt is for those. Leave --prompt out")
    # A word in the prompt's place: the prompt may look like a flag, and behind the flags be the value of the last.
    with generate.make_context("generate", ["PROMPT", *flags]) as context:
        options = {**context.params}
    options.pop("prompt")
    for name in ("comparing", "show_drafts", "slow", "racing", "as_json", "trace", "quiet", "details"):
        if options.pop(name):
            flag = next(each.opts[0] for each in generate.params if each.name == name)
            raise OptionError(f"{flag} does not change what is generated, which is all that is compared. Leave it out")
    return options


def _read_report(which: str) -> dict[str, Any]:
    """Return a run's report from a file."""
    if which.lstrip().startswith("-"):
        raise OptionError(f"{which!r} is a set of options; say what to continue. Try --prompt 'Once upon a time'")
    try:
        report = json.loads(Path(which).read_text(encoding="utf-8-sig"))
        options = report.get("options", {})
        missing = {"options", "prompt", "token_ids", "guarantee"} - set(report) or _COMPARED - set(options)
        if missing:
            raise ValueError(f"it lacks {', '.join(sorted(missing))}")
        # earlier versions had no choice for keys and values
        options.setdefault("kv_dtype", options["dtype"] if options["backend"] in GPU_BACKENDS else KV_DTYPES[0])
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{which} is no report of a run ({explain(error)}). Write one with minispec generate --json"
        ) from None
    return dict(report)
