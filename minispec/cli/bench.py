"""``minispec bench``: every cost of the theory on this machine, and what speculation gains from them."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click
from click.core import ParameterSource
from rich.console import Console

from minispec.cli.bench_batches import batch_plan, show_batches
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
from minispec.engine.backends import BACKENDS, DTYPES
from minispec.engine.backends.formats import AUTO
from minispec.engine.drafters.build import match_vocabulary
from minispec.engine.loading import load_model
from minispec.engine.loading.bundled import DEFAULT_DRAFT, DEFAULT_TARGET
from minispec.errors import MinispecError
from minispec.lab.bench.batches import run_batches
from minispec.lab.bench.costs import QUICK, Benchmark, Plan, Speculation, run_benchmark
from minispec.lab.prompts import bundled_prompts, read_prompts
from minispec.lab.roofline.forwards import doubts_of_forwards
from minispec.lab.roofline.machine import LADDER_BYTES, Machine, describe_cpu, measure_machine
from minispec.lab.trust import doubts, sentence
from minispec.lab.viz.plots import style

_FULL = Plan()


@click.command()
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
@option("--context", type=click.IntRange(min=0), default=_FULL.context, help="Cached tokens of the timed forwards.")
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
    prompts = bundled_prompts() if file is None else read_prompts(file)
    notes = Console(stderr=True, highlight=False)
    with notes.status("loading models …") as status:
        backend, dtype, kv_dtype = options["backend"], options["dtype"], options["kv_dtype"]
        target = load_model(options["target"], backend, dtype, kv_dtype)
        draft = load_model(options["draft"], backend, options["draft_dtype"] or dtype, kv_dtype)
        match_vocabulary(target, draft)
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
    source = click.get_current_context().get_parameter_source
    asked = {field: options[name] for name, field in _FIELDS.items() if source(name) is not ParameterSource.DEFAULT}
    if "rows" in asked:
        asked["rows"] = tuple(sorted({1, *asked["rows"]}))
    if "gammas" in asked:
        asked["gammas"] = tuple(sorted(set(asked["gammas"])))
    return dataclasses.replace(QUICK if options["quick"] else _FULL, **asked)


def _report(
    benchmark: Benchmark, plan: Plan, machine: Machine, facts: dict[str, Any], pair: dict[str, str]
) -> dict[str, Any]:
    return {
        "machine": facts | {"read_bytes_per_s": {str(rung): speed for rung, speed in machine.ladder}},
        "pair": pair,
        "plan": asdict(plan),
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
    forwards = table("forward", "median", "from", "to", "floor", "share of floor", "v(m)")
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
        f"behind {plan.context} cached tokens; floor: {size(first.footprint_bytes)} at the "
        f"{first.bandwidth_bytes_per_s / 1e9:.1f} GB/s probed in the same rounds, or the arithmetic at the peak\n"
    )
    costs = table("cost", "median", "from", "to", "floor", "share of floor")
    for cost in benchmark.costs:
        name = f"{cost.name}, {plan.prompt_tokens} tokens" if cost.name == "prefill" else cost.name
        floor, share = ("", "") if cost.floor_s is None else (time(cost.floor_s), f"{cost.floor_s / cost.seconds:.2f}")
        costs.add_row(name, time(cost.seconds), time(cost.spread[0]), time(cost.spread[1]), floor, share)
    out.print(costs)
    drafted = next(cost for cost in benchmark.costs if cost.name == "drafted token")
    out.print(f"cost ratio c: {drafted.seconds / benchmark.forwards[0].seconds:.3f} (drafted token / decode forward)\n")
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
