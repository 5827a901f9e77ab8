"""``minispec bench``: every cost of the theory here, and what speculation gains from them, alone and in batches."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click
from click.core import ParameterSource
from rich.console import Console

from minispec.cli.lists import Several
from minispec.cli.machine_report import (
    QUICK_LADDER,
    describe_pair,
    has_room,
    measured_facts,
    print_machine,
    size,
    stdout,
    table,
    time,
)
from minispec.cli.options import FileName, ModelName, kv_dtype_option, option, threads_option
from minispec.cli.sections import Command
from minispec.engine.backends import BACKENDS, DTYPES
from minispec.engine.backends.formats import AUTO
from minispec.engine.drafters.build import match_vocabulary
from minispec.engine.files import check_apart
from minispec.engine.loading import load_model
from minispec.engine.loading.bundled import DEFAULT_DRAFT, DEFAULT_TARGET
from minispec.errors import MinispecError, OptionError
from minispec.lab.bench.batches import (
    QUICK_BATCHES,
    BatchBenchmark,
    BatchPlan,
    BreakEven,
    check_batch_room,
    run_batches,
)
from minispec.lab.bench.costs import QUICK, Benchmark, Plan, Speculation, check_alike, check_room, run_benchmark
from minispec.lab.prompts import bundled_prompts, read_prompts
from minispec.lab.roofline.forwards import doubts_of_forwards
from minispec.lab.roofline.machine import LADDER_BYTES, Machine, describe_cpu, measure_machine
from minispec.lab.trust import doubts, sentence
from minispec.lab.viz.plots import style

_FULL = Plan()


@click.command(cls=Command)
@option("--target", type=ModelName(), default=DEFAULT_TARGET, help="The model whose text you want.")
@option("--draft", type=ModelName(), default=DEFAULT_DRAFT, help="The draft model.")
@option("--backend", type=click.Choice(BACKENDS), default=BACKENDS[0], help="What computes the forward pass.")
@option(
    "--dtype",
    type=click.Choice((AUTO, *DTYPES)),
    default=AUTO,
    help="The format of the target's weights in memory.",
)
@option(
    "--draft-dtype",
    type=click.Choice((AUTO, *DTYPES)),
    default=None,
    show_default="that of --dtype",
    help="The format of the draft's weights.",
)
@kv_dtype_option
@threads_option
@click.option(
    "--prompts",
    "prompt_file",
    type=FileName(),
    help="Use the prompts in this file instead of the bundled ones.",
)
@click.option(
    "--batch",
    type=Several(click.IntRange(min=1)),
    help="Measure texts decoded together instead, for these batch sizes (1,2,4,8,16,32,64): goodput with and without "
    "speculation, the batch where it breaks even, the engine's overhead, pages.",
)
@option("--context", type=click.IntRange(min=0), default=_FULL.context, help="Cached tokens of the timed passes.")
@option(
    "--rows",
    type=Several(click.IntRange(min=1)),
    default=",".join(map(str, _FULL.rows)),
    help="Rows of the verify curve; 1 always is.",
)
@option(
    "--gammas",
    type=Several(click.IntRange(min=1)),
    default=",".join(map(str, _FULL.gammas)),
    help="Draft lengths among which to find the best fixed one.",
)
@option("--max-tokens", type=click.IntRange(min=2), default=_FULL.num_tokens, help="Tokens per prompt.")
@option("--per-domain", type=click.IntRange(min=1), default=_FULL.prompts, help="Prompts per domain.")
@option("--repeats", type=click.IntRange(min=1), default=_FULL.repeats, help="Rounds of every comparison; at least 5.")
@click.option(
    "--quick",
    is_flag=True,
    help="Measure a little of everything, where no option says how much: to see it work, not to quote.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else on stdout.")
@click.option("--plot", type=FileName(), help="Write the figure to this file (.png, .svg or .pdf).")
def bench(**options: Any) -> None:
    """Measure prefill, decoding, drafting, verification, sampling, and the speedup in each domain.

    Every comparison uses the same prompts and the same number of tokens, in alternating runs; at temperature 0
    the texts must be equal, or the command says so and fails.
    """
    if options["plot"] is not None:
        style.check_output(options["plot"])
    batches = None if options["batch"] is None else batch_plan(options)
    plan = _plan(options)
    file = options["prompt_file"]
    check_apart({"--prompts": file, "--plot": options["plot"]})
    prompts = bundled_prompts() if file is None else read_prompts(file)
    notes = Console(stderr=True, highlight=False)
    with notes.status("loading models …") as status:
        backend, dtype, kv_dtype = options["backend"], options["dtype"], options["kv_dtype"]
        target = load_model(options["target"], backend, dtype, kv_dtype)
        draft = load_model(options["draft"], backend, options["draft_dtype"] or dtype, kv_dtype)
        match_vocabulary(target, draft)
        plan = dataclasses.replace(plan, prompt_tokens=min(plan.prompt_tokens, target.n_positions))
        check_alike(target, draft)
        if batches is None:
            check_room(target, draft, prompts, plan)
        else:
            check_batch_room(target, draft, batches)
        status.update("making kernels ready …")
        for model in (target, draft):
            model.backend.warm_up(model.dtype, model.kv_dtype)
        status.update("measuring this machine …")
        machine = measure_machine(QUICK_LADDER if options["quick"] else LADDER_BYTES, plan.repeats)

        def progress(what: str) -> None:
            status.update(f"measuring {what} …")

        if batches is None:
            benchmark = run_benchmark(target, draft, machine, prompts, plan, progress=progress)
        else:
            found = run_batches(target, draft, machine, prompts, batches, progress=progress)
    facts = describe_cpu()
    pair = {
        "target": target.name,
        "dtype": target.dtype,
        "draft": draft.name,
        "draft_dtype": draft.dtype,
        "kv_dtype": target.kv_dtype,
        "backend": target.backend.name,
    }
    if batches is not None:
        show_batches(found, batches, machine, facts, pair, options)
        return
    if options["as_json"]:
        click.echo(json.dumps(_report(benchmark, plan, machine, facts, pair)))
    else:
        _print(benchmark, plan, machine, facts, pair, quick=options["quick"])
    if options["plot"] is not None:
        from minispec.lab.viz.plots.bench import bench_figure

        name = f"{facts['cpu']}, {facts['threads']} threads"
        style.save(bench_figure(benchmark, f"{target.name}, {target.dtype}", name), options["plot"])
    if benchmark.differing:
        where = ", ".join(run.domain for run in benchmark.differing)
        raise MinispecError(f"at temperature 0 speculative text is not the plain text ({where}): please report this")


_FIELDS = {
    "rows": "rows",
    "context": "context",
    "per_domain": "prompts",
    "max_tokens": "num_tokens",
    "gammas": "gammas",
    "repeats": "repeats",
}


def _plan(options: dict[str, Any]) -> Plan:
    """Return the plan that options ask for; --quick is for what they do not say."""
    asked = _asked(options, _FIELDS)
    if "rows" in asked:
        asked["rows"] = tuple(sorted({1, *asked["rows"]}))
    return dataclasses.replace(QUICK if options["quick"] else _FULL, **asked)


def _asked(options: Mapping[str, Any], fields: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a plan that options name, draft lengths in order and each once."""
    source = click.get_current_context().get_parameter_source
    asked = {field: options[name] for name, field in fields.items() if source(name) is not ParameterSource.DEFAULT}
    return asked | ({"gammas": tuple(sorted(set(asked["gammas"])))} if "gammas" in asked else {})


def _head(plan: Plan | BatchPlan, machine: Machine, facts: dict[str, Any], pair: dict[str, str]) -> dict[str, Any]:
    return {
        "machine": facts | {"read_bytes_per_s": {str(rung): speed for rung, speed in machine.ladder}},
        "pair": pair,
        "plan": asdict(plan),
    }


def _report(
    benchmark: Benchmark, plan: Plan, machine: Machine, facts: dict[str, Any], pair: dict[str, str]
) -> dict[str, Any]:
    return {
        **_head(plan, machine, facts, pair),
        "forwards": [measured_facts(m) for m in benchmark.forwards],
        "costs": [asdict(cost) for cost in benchmark.costs],
        "speculation": [asdict(run) for run in benchmark.speculation],
        "doubts": _doubts(benchmark),
        "geometric_mean": {f"{temperature:g}": mean for temperature, mean in _means(benchmark.speculation).items()},
    }


def _doubts(benchmark: Benchmark) -> list[str]:
    runs = benchmark.speculation
    return doubts_of_forwards(benchmark.forwards) + doubts(
        spreads={cost.name: cost.spread for cost in benchmark.costs}
        | {f"speedup on {run.domain} at T = {run.setting.temperature:g}": run.spread for run in runs},
        speedups={
            f"{run.domain} at T = {run.setting.temperature:g}:": (run.speedup, run.tau)
            for run in runs
            if run.tau is not None
        },
    )


def _means(runs: Sequence[Speculation]) -> dict[float, float]:
    """Return the geometric mean of the domains' speedups, by temperature."""
    temperatures = dict.fromkeys(run.setting.temperature for run in runs)
    logs = {t: [math.log(run.speedup) for run in runs if run.setting.temperature == t] for t in temperatures}
    return {temperature: math.exp(math.fsum(values) / len(values)) for temperature, values in logs.items()}


def _print(
    benchmark: Benchmark, plan: Plan, machine: Machine, facts: dict[str, Any], pair: dict[str, str], *, quick: bool
) -> None:
    out = stdout()
    print_machine(out, facts, machine, "float32")
    out.print(f"{describe_pair(pair)};\n{plan.repeats} rounds, medians, spread from smallest to largest\n")
    forwards = table("pass", "median", "from", "to", "floor", "share of floor", "v(m)")
    for m in benchmark.forwards:
        name = "decode, 1 row" if m.rows == 1 else f"verify, {m.rows} rows"
        forwards.add_row(
            name,
            time(m.seconds),
            time(m.spread[0]),
            time(m.spread[1]),
            time(m.floor.seconds),
            f"{1 / m.floor_ratio:.2f}",
            f"{m.verify_cost:.2f}",
        )
    out.print(forwards)
    first = benchmark.forwards[0].floor
    out.print(
        f"after {plan.context} cached tokens; floor: {size(first.footprint_bytes)} at the "
        f"{first.bandwidth_bytes_per_s / 1e9:.1f} GB/s probed in the same rounds, or the arithmetic at the peak\n"
    )
    costs = table("cost", "median", "from", "to", "floor", "share of floor")
    for cost in benchmark.costs:
        name = f"{cost.name}, {plan.prompt_tokens} tokens" if cost.name == "prefill" else cost.name
        floor, share = ("", "") if cost.floor_s is None else (time(cost.floor_s), f"{cost.floor_s / cost.seconds:.2f}")
        costs.add_row(name, time(cost.seconds), time(cost.spread[0]), time(cost.spread[1]), floor, share)
    out.print(costs)
    drafted = next(cost for cost in benchmark.costs if cost.name == "drafted token")
    out.print(f"cost ratio c: {drafted.seconds / benchmark.forwards[0].seconds:.3f} (drafted token / one-row pass)\n")
    _print_speculation(out, benchmark.speculation)
    found = _doubts(benchmark)
    if found:
        out.print("\n" + sentence(found), markup=False)
    if quick:
        out.print("\n--quick: too little was measured to quote any of it.")


def _print_speculation(out: Console, runs: Sequence[Speculation]) -> None:
    spread = ("from", "to") if has_room(out) else ()
    rows = table("speculation", "T", "best\nγ", "plain", "specu-\nlative", "speedup", *spread, "τ", "α", "same\ntext")
    for run in runs:
        same = {None: "", True: "yes", False: "NO"}[run.same_tokens]
        rows.add_row(
            run.domain,
            f"{run.setting.temperature:g}",
            str(run.gamma),
            time(run.plain_s),
            time(run.speculative_s),
            f"{run.speedup:.2f}x",
            *(f"{end:.2f}x" for end in run.spread if spread),
            "–" if run.tau is None else f"{run.tau:.2f}",
            "–" if run.alpha is None else f"{run.alpha:.2f}",
            same,
        )
    out.print(rows)
    first = runs[0]
    means = ", ".join(f"{mean:.2f}x at T = {temperature:g}" for temperature, mean in _means(runs).items())
    out.print(
        f"per token, {first.num_prompts} prompt{'s' if first.num_prompts > 1 else ''} of {first.num_tokens} tokens "
        f"each, prefill left out; γ chosen on other seeds than measured. Geometric mean: {means}"
    )


_BATCH_FIELDS = {"context": "context", "gammas": "gammas", "max_tokens": "num_tokens", "repeats": "repeats"}
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
    source = click.get_current_context().get_parameter_source
    for name, why in _WITHOUT_MEANING.items():
        if source(name) is ParameterSource.COMMANDLINE:
            value, flag = options[name], "--" + name.replace("_", "-")
            shown = ",".join(map(str, value)) if isinstance(value, tuple) else value
            raise OptionError(f"{flag[2:]} is {shown}; with --batch {why}. Leave {flag} out")
    asked = _asked(options, _BATCH_FIELDS)
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
        click.echo(json.dumps(_report_batches(found, plan, machine, facts, pair)))
    else:
        _print_batches(found, plan, machine, facts, pair, quick=options["quick"])
    if options["plot"] is not None:
        from minispec.lab.viz.plots.bench import batches_figure

        name = f"{facts['cpu']}, {facts['threads']} threads"
        style.save(batches_figure(found, f"{pair['target']}, {pair['dtype']}", name), options["plot"])
    if found.differing:
        where = "; ".join(f"batch {each.batch}: texts {_several(each.differing)}" for each in found.differing)
        raise MinispecError(f"texts of a batch are not what they are alone ({where}): please report this")


def _several(texts: tuple[int, ...]) -> str:
    return ", ".join(map(str, texts[:5])) + (", …" if len(texts) > 5 else "")


def _report_batches(
    found: BatchBenchmark, plan: BatchPlan, machine: Machine, facts: dict[str, Any], pair: dict[str, str]
) -> dict[str, Any]:
    break_even = {name: asdict(at) | {"text": str(at)} for name, at in found.break_even.items()}
    return {
        **_head(plan, machine, facts, pair),
        "forwards": [asdict(each) for each in found.forwards],
        "drafts": [asdict(each) for each in found.drafts],
        "goodput": [asdict(each) | {"same_texts": not each.differing} for each in found.goodput],
        "alpha": found.alpha,
        "forecasts": [asdict(each) for each in found.forecasts],
        "break_even": break_even,
        "pages": [asdict(each) | {"waste": each.waste} for each in found.pages],
        "doubts": _doubts_of_batches(found),
    }


def _doubts_of_batches(found: BatchBenchmark) -> list[str]:
    forwards = {f"B = {each.batch}, {each.rows} row{'s' if each.rows > 1 else ''}": each for each in found.forwards}
    dearer = {name: min(each.cost, each.step_cost) for name, each in forwards.items()}
    return doubts(
        spreads={name: each.spread for name, each in forwards.items()}
        | {f"speedup at B = {each.batch}": each.spread for each in found.goodput},
        verify_costs=dearer,
        speedups={f"B = {each.batch}:": (each.speedup, each.tau) for each in found.goodput},
    )


def _print_batches(
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
    _print_batch_forwards(out, found, plan)
    _print_goodput(out, found, plan)
    _print_pages(out, found)
    doubted = _doubts_of_batches(found)
    if doubted:
        out.print("\n" + sentence(doubted), markup=False)
    if quick:
        out.print("\n--quick: too little was measured to quote any of it.")


def _print_batch_forwards(out: Console, found: BatchBenchmark, plan: BatchPlan) -> None:
    counts = plan.rows
    cells = {(each.batch, each.rows): each for each in found.forwards}
    rows = table("batch", "r = 1", *(f"v(B, {count})" for count in counts), "paged / cont.")
    for batch in found.batches:
        one = cells[batch, 1]
        paged = "" if one.paged_ratio is None else f"{one.paged_ratio:.2f}"
        rows.add_row(str(batch), time(one.seconds), *(f"{cells[batch, r].cost:.2f}" for r in counts), paged)
    out.print(rows)
    out.print(
        f"one pass over B texts with r rows each after {plan.context} cached tokens,\nas multiples of B = 1, "
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
        f"text ends; costs: measured passes and overhead; α = {found.alpha:.2f}\n"
    )
    users = table("batch", "plain/s each", "spec./s each")
    for each in found.goodput:
        users.add_row(str(each.batch), f"{each.plain / each.batch:.1f}", f"{each.speculative / each.batch:.1f}")
    out.print(users)
    out.print("tokens per second of each text: what a user sees\n")
    overheads = table("batch", "τ", "α", "overhead, plain", "share", "speculative", "share", "same texts")
    for each in found.goodput:
        plain, speculative = each.plain_overhead_s, each.speculative_overhead_s
        overheads.add_row(
            str(each.batch), f"{each.tau:.2f}", "–" if each.alpha is None else f"{each.alpha:.2f}", time(plain),
            f"{plain * each.plain:.0%}", time(speculative), f"{speculative * each.speculative:.0%}",
            "NO" if each.differing else "yes",
        )  # fmt: skip
    out.print(overheads)
    out.print("overhead: per emitted token, everything but passes, and its share of the time\n")
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
