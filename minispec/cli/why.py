"""``minispec why``: where the time goes."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from minispec.cli.generate import read_prompt
from minispec.cli.options import DRAFTING, ModelName, generation_options_without, option
from minispec.cli.pair import Pair
from minispec.cli.sections import Command
from minispec.engine.drafters.spec import parse_draft
from minispec.engine.generation import Generation
from minispec.engine.loading.bundled import DEFAULT_DRAFT
from minispec.errors import OptionError
from minispec.lab.explain.step_costs import OTHER_GAMMAS, VerifyCurve, curve_of_runs, step_costs
from minispec.lab.explain.why import CAUSES, Attribution, Change, attribute, changes
from minispec.lab.timer import interleave
from minispec.lab.trust import doubts, sentence

_MEANING = {
    "acceptance": "drafts that were rejected: steps that full acceptance would have saved",
    "draft": "the time to draft",
    "verify": "the target's pass over more than one row",
    "overhead": "the rest of a step: probabilities, the rule, records",
    "prefill": "the prompt, which drafts do not speed up",
}


@click.command(cls=Command)
@click.argument("prompt")
@option("--draft", type=ModelName(*DRAFTING), default=DEFAULT_DRAFT, help="What drafts: a model, or KIND[:key=value].")
@generation_options_without("--draft")
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Timed rounds of plain and speculative decoding.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else on stdout.")
def why(prompt: str, repeats: int, as_json: bool, **options: Any) -> None:
    """Show what keeps the speedup on PROMPT below the ideal γ + 1, cause by cause.

    Plain and speculative decoding take turns. The whole difference between the ideal and the measured time is
    attributed to acceptance, drafting, verification, overhead and prefill. What-ifs, one per cause and one for another
    γ, say what would help most.
    """
    text = read_prompt(prompt)
    if options["draft"] == "none" or parse_draft(options["draft"]).is_tree:
        raise OptionError(
            f"draft is {options['draft']!r}; what is explained here is the speed of chains of drafts. Try --draft ngram"
        )
    notes = Console(stderr=True, highlight=False, quiet=as_json)
    pair = Pair.load(options, notes)
    with notes.status("plain and speculative decoding, in turns …"):
        runs = _median_runs(pair, text, repeats)
        plain, run = runs.pop("plain"), runs["asked"]
        found = attribute(plain.metrics, run.metrics)
        costs = [step_costs(plain.metrics, each.metrics) for each in runs.values() if each.metrics.num_draft_tokens]
        curve = curve_of_runs(costs, found.costs.cost_ratio)
        asked = options["gamma"] if isinstance(options["gamma"], int) else None
        possible = changes(found, run.steps, curve, plain.metrics, run.metrics, asked)
    if as_json:
        click.echo(json.dumps(_report(found, possible, curve, repeats)))
    else:
        _show(found, possible, curve.warning)


def _median_runs(pair: Pair, text: str, repeats: int) -> dict[str, Generation]:
    """Return the run of median duration of each kind, of ``repeats`` rounds after one to warm up.

    "plain", "asked", and one per other draft length under its number.
    """
    pairs = {"plain": replace(pair, draft=None), "asked": pair}
    pairs |= {str(gamma): replace(pair, options={**pair.options, "gamma": gamma}) for gamma in OTHER_GAMMAS}
    turns = {name: partial(_run, each, text) for name, each in pairs.items()}
    runs = interleave(turns, 1 + repeats)
    return {
        name: sorted(each[1:], key=lambda run: run.metrics.prefill_s + run.metrics.decode_s)[repeats // 2]
        for name, each in runs.items()
    }


def _run(pair: Pair, text: str) -> Generation:
    return pair.start(text).run()


def _report(found: Attribution, possible: list[Change], curve: VerifyCurve, repeats: int) -> dict[str, Any]:
    return {
        **asdict(found),
        "causes": _MEANING,
        "verify_and_overhead": curve.points,
        "evened_out": curve.evened_out,
        "changes": [asdict(change) for change in possible],
        "repeats": repeats,
        "doubts": curve.doubts,
    }


def _show(found: Attribution, possible: list[Change], warning: str | None) -> None:
    out = Console(highlight=False)
    table = Table(box=None, pad_edge=False)
    for head in ("", "ms per token", "speedup left", ""):
        table.add_column(head, justify="left" if not head else "right", overflow="fold")

    costs = found.costs
    impossible = doubts(verify_costs={round(costs.gamma + 1.0, 1): costs.verify_cost})

    def milliseconds(seconds: float) -> str:
        return f"{1e3 * seconds / found.num_tokens:.3f}"

    table.add_row(
        "ideal",
        milliseconds(found.plain_s / found.ideal),
        f"{found.ideal:.2f}x",
        "every draft accepted, and nothing costs anything",
    )
    for cause in CAUSES:
        lost = found.losses[cause]
        if cause == "verify" and impossible:
            table.add_row(cause, "–", "–", "withheld: impossible, see below")
            continue
        table.add_row(
            cause, f"{'+' if lost >= 0 else ''}{milliseconds(lost)}", f"{found.stairs[cause]:.2f}x", _MEANING[cause]
        )
    table.add_row(
        "measured",
        milliseconds(found.seconds),
        f"{found.speedup:.2f}x",
        f"plain decoding takes {milliseconds(found.plain_s)}",
    )
    out.print(table)
    v = "–" if impossible else f"{costs.verify_cost:.2f}"
    out.print(
        f"\nτ {found.tau:.2f} of {found.ideal:.2f} tokens per step; c {costs.cost_ratio:.3f}, "
        f"v {v}, o {costs.overhead:+.2f}, in units of a plain step ({1e3 * costs.unit_s:.2f} ms)"
    )
    out.print("\nWhat if (all else as it was):")
    for change in possible:
        out.print(f"  {change.speedup:5.2f}x  {change.what}", markup=False)
    best = possible[0]
    verdict = f"would help most: {best.what}, {best.speedup:.2f}x"
    out.print(f"\n{verdict if best.speedup > found.speedup else 'none of these would help'}", markup=False)
    if impossible or warning is not None:
        out.print(warning or sentence(impossible), markup=False)
