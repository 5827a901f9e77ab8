"""``minispec bench --batch``: its options, and its figures as tables, JSON and a plot."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import click
from click.core import ParameterSource
from rich.console import Console

from minispec.cli.machine_report import describe_pair, print_machine, stdout, table, time
from minispec.errors import MinispecError, OptionError
from minispec.lab.bench.batches import QUICK_BATCHES, BatchBenchmark, BatchPlan, BreakEven
from minispec.lab.roofline.machine import Machine
from minispec.lab.trust import doubts, sentence
from minispec.lab.viz.plots import style

_FIELDS = {"context": "context", "gammas": "gammas", "max_tokens": "num_tokens", "repeats": "repeats"}
_WITHOUT_MEANING = {
    "rows": "rows follow from --gammas, 1 and γ + 1",
    "per_domain": "there are as many texts as the batch has",
}


def batch_plan(options: Mapping[str, Any]) -> BatchPlan:
    """Return the plan that options ask for; where they ask for nothing, a batch has defaults of its own.

    Raises
    ------
    OptionError
        If an option is given that means nothing here, or the plan would prove nothing.
    """
    context = click.get_current_context()
    sources = {name: context.get_parameter_source(name) for name in options}
    for name, why in _WITHOUT_MEANING.items():
        if sources[name] is ParameterSource.COMMANDLINE:
            value, flag = options[name], "--" + name.replace("_", "-")
            shown = ",".join(map(str, value)) if isinstance(value, tuple) else value
            raise OptionError(f"{flag[2:]} is {shown}; with --batch {why}. Leave {flag} out")
    asked = {field: options[name] for name, field in _FIELDS.items() if sources[name] is not ParameterSource.DEFAULT}
    if "gammas" in asked:
        asked["gammas"] = tuple(sorted(set(asked["gammas"])))
    plan = QUICK_BATCHES if options["quick"] else BatchPlan()
    return dataclasses.replace(plan, batches=tuple(sorted(set(options["batch"]))), **asked)


def show_batches(
    found: BatchBenchmark,
    plan: BatchPlan,
    machine: Machine,
    facts: dict[str, Any],
    pair: dict[str, str],
    options: Mapping[str, Any],
) -> None:
    """Print, write and draw what was found.

    Raises
    ------
    MinispecError
        In the end, if a text of a batch was not what it is alone.
    """
    if options["as_json"]:
        click.echo(json.dumps(_report(found, plan, machine, facts, pair)))
    else:
        _print(found, plan, machine, facts, pair, quick=options["quick"])
    if options["plot"] is not None:
        from minispec.lab.viz.plots.bench import batches_figure

        name = f"{facts['cpu']}, {facts['threads']} threads"
        style.save(batches_figure(found, f"{pair['target']}, {pair['dtype']}", name), options["plot"])
    if found.differing:
        where = "; ".join(f"batch {each.batch}: texts {_several(each.differing)}" for each in found.differing)
        raise MinispecError(f"texts of a batch are not what they are alone ({where}): please report this")


def _several(texts: tuple[int, ...]) -> str:
    return ", ".join(map(str, texts[:5])) + (", …" if len(texts) > 5 else "")


def _report(
    found: BatchBenchmark, plan: BatchPlan, machine: Machine, facts: dict[str, Any], pair: dict[str, str]
) -> dict[str, Any]:
    break_even = {name: asdict(at) | {"text": str(at)} for name, at in found.break_even.items()}
    return {
        "machine": facts | {"read_bytes_per_s": {str(rung): speed for rung, speed in machine.ladder}},
        "pair": pair,
        "plan": asdict(plan),
        "forwards": [asdict(each) for each in found.forwards],
        "drafts": [asdict(each) for each in found.drafts],
        "goodput": [asdict(each) | {"same_texts": not each.differing} for each in found.goodput],
        "alpha": found.alpha,
        "forecasts": [asdict(each) for each in found.forecasts],
        "break_even": break_even,
        "pages": [asdict(each) | {"waste": each.waste} for each in found.pages],
        "doubts": _doubts(found),
    }


def _doubts(found: BatchBenchmark) -> list[str]:
    forwards = {f"B = {each.batch}, {each.rows} row{'s' if each.rows > 1 else ''}": each for each in found.forwards}
    dearer = {name: min(each.cost, each.step_cost) for name, each in forwards.items()}
    return doubts(
        spreads={name: each.spread for name, each in forwards.items()}
        | {f"speedup at B = {each.batch}": each.spread for each in found.goodput},
        verify_costs=dearer,
        speedups={f"B = {each.batch}:": (each.speedup, each.tau) for each in found.goodput},
    )


def _print(
    found: BatchBenchmark,
    plan: BatchPlan,
    machine: Machine,
    facts: dict[str, Any],
    pair: dict[str, str],
    *,
    quick: bool,
) -> None:
    out = stdout()
    print_machine(out, facts, machine, "float32")
    out.print(f"{describe_pair(pair)}; {plan.repeats} rounds, medians, T = 0\n")
    _print_forwards(out, found, plan)
    _print_goodput(out, found, plan)
    _print_pages(out, found)
    doubted = _doubts(found)
    if doubted:
        out.print("\n" + sentence(doubted), markup=False)
    if quick:
        out.print("\n--quick: too little was measured to quote any of it.")


def _print_forwards(out: Console, found: BatchBenchmark, plan: BatchPlan) -> None:
    counts = plan.rows
    cells = {(each.batch, each.rows): each for each in found.forwards}
    rows = table("batch", "r = 1", *(f"v(B, {count})" for count in counts), "paged / cont.")
    for batch in found.batches:
        one = cells[batch, 1]
        paged = "" if one.paged_ratio is None else f"{one.paged_ratio:.2f}"
        rows.add_row(str(batch), time(one.seconds), *(f"{cells[batch, r].cost:.2f}" for r in counts), paged)
    out.print(rows)
    out.print(
        f"one forward over B texts with r rows each behind {plan.context} cached tokens,\nas multiples of B = 1, "
        "r = 1; paged / contiguous: with r = 1\n"
    )


def _print_goodput(out: Console, found: BatchBenchmark, plan: BatchPlan) -> None:
    rows = table("batch", "γ", "plain/s", "spec./s", "speedup", "from", "to", "costs say", "roofline says")
    for each, said in zip(found.goodput, found.forecasts, strict=True):
        rows.add_row(
            str(each.batch), str(each.gamma), f"{each.plain:.0f}", f"{each.speculative:.0f}", f"{each.speedup:.2f}x",
            f"{each.spread[0]:.2f}x", f"{each.spread[1]:.2f}x", f"{said.from_costs:.2f}x", f"{said.from_roofline:.2f}x",
        )  # fmt: skip
    out.print(rows)
    out.print(
        f"tokens per second of all texts together, {plan.num_tokens} tokens each, prefill left out,\nuntil the first "
        f"text ends; costs: measured forwards and overhead; α = {found.alpha:.2f}\n"
    )
    overheads = table("batch", "τ", "α", "overhead, plain", "share", "speculative", "share", "same texts")
    for each in found.goodput:
        plain, speculative = each.plain_overhead_s, each.speculative_overhead_s
        overheads.add_row(
            str(each.batch), f"{each.tau:.2f}", "–" if each.alpha is None else f"{each.alpha:.2f}", time(plain),
            f"{plain * each.plain:.0%}", time(speculative), f"{speculative * each.speculative:.0%}",
            "NO" if each.differing else "yes",
        )  # fmt: skip
    out.print(overheads)
    out.print("overhead: per emitted token, everything but forwards, and its share of the time\n")
    at = found.break_even
    out.print(
        f"break-even batch   measured {at['measured']}\n"
        f"                   from measured costs {_beside(at['from_costs'], at['measured'])}\n"
        f"                   from the roofline {_beside(at['from_roofline'], at['measured'])}\n"
    )


def _beside(said: BreakEven, measured: BreakEven) -> str:
    """Show a prediction, and by how much it differs where both lie in the range."""
    if said.side != "inside" or measured.side != "inside":
        return str(said)
    return f"{said}, {said.batch / measured.batch:.2f} times the measured"


def _print_pages(out: Console, found: BatchBenchmark) -> None:
    rows = table("slots per page", "held", "used", "empty", "at worst")
    for each in found.pages:
        rows.add_row(
            str(each.page_size), f"{each.held:.0f}", f"{each.used:.0f}", f"{each.waste:.1%}", f"{each.worst:.1%}"
        )
    out.print(rows)
    paged, contiguous = found.pages
    out.print(
        f"slots of {found.batches[-1]} texts of mixed lengths, means over {paged.num_steps} steps; "
        f"contiguous texts\n({contiguous.page_size} slots per page) take {contiguous.held / paged.held:.1f} times as "
        "many"
    )
