"""``minispec diff``: where two runs part ways, and why."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
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
from minispec.engine.generation.prepare import encode_prompt
from minispec.engine.loading import load_model
from minispec.engine.model.language_model import LanguageModel
from minispec.engine.sampling.params import is_whole
from minispec.errors import InputError, OptionError, explain, quote
from minispec.lab.explain.divergence import diverge

_EXPECT_EQUAL = ("bit-exact", "same-seed")
_ENDS = ("max_tokens", "stop")
_LOADING = ("target", "backend", "dtype", "kv_dtype")
_COMPARED = {"target", "backend", "dtype", "temperature", *_ENDS}
_WAY_OUT = "Write one with minispec generate --json"


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
    for what in _LOADING:
        if first[what] != second[what]:
            raise OptionError(
                f"the runs have different {what}s, {first[what]!r} and {second[what]!r}; compare like with like"
            )
    if runs[0]["prompt"] != runs[1]["prompt"]:
        raise OptionError("the runs have different prompts; compare like with like")
    target = load_model(*(first[what] for what in _LOADING))
    tokens = encode_prompt(runs[0]["prompt"], target)
    _check_tokens(a, runs[0]["token_ids"], target, len(tokens))
    _check_tokens(b, runs[1]["token_ids"], target, len(tokens))
    found = diverge(
        target,
        tokens,
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
    with generate.make_context("minispec generate", ["PROMPT", *flags]) as context:
        options = {**context.params}
    options.pop("prompt")
    for name in ("comparing", "show_drafts", "slow", "racing", "as_json", "trace", "quiet", "details"):
        if options.pop(name):
            flag = next(each.opts[0] for each in generate.params if each.name == name)
            raise OptionError(f"{flag} does not change what is generated, which is all that is compared. Leave it out")
    return options


def _check_tokens(which: str, token_ids: list[int], target: LanguageModel, num_prompt_tokens: int) -> None:
    """Refuse tokens that this target cannot have generated after a prompt of so many tokens."""
    most, room = max(token_ids, default=0), target.n_positions - num_prompt_tokens
    wrong = ""
    if most >= target.vocab_size:
        wrong = f"it has token id {quote(most)}; ids go from 0 to {target.vocab_size - 1}"
    elif len(token_ids) > room:
        wrong = f"it has {len(token_ids)} tokens; after its prompt there is room for {room}"
    if wrong:
        raise InputError(f"{which} is no report of a run of {target.name} ({wrong}). {_WAY_OUT}")


def _check_kinds(report: Mapping[str, Any]) -> None:
    """Refuse a value of the wrong kind in a report that has all its keys."""
    options = report["options"]
    texts = {"prompt": report, "guarantee": report} | dict.fromkeys(_LOADING, options)
    for name, where in texts.items():
        if not isinstance(where[name], str):
            raise ValueError(f"{name} is {quote(where[name])}; it must be a text")
    token_ids, temperature = report["token_ids"], options["temperature"]
    if not isinstance(token_ids, list) or not all(is_whole(token) and token >= 0 for token in token_ids):
        raise ValueError(f"token_ids is {quote(token_ids)}; it must be a list of whole numbers from 0 on")
    if isinstance(temperature, bool) or not isinstance(temperature, int | float) or not temperature >= 0:
        raise ValueError(f"temperature is {quote(temperature)}; it must be a number from 0 on")


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
        _check_kinds(report)
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{which} is no report of a run ({explain(error)}). {_WAY_OUT}") from None
    return dict(report)
