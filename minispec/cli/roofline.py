"""``minispec roofline``: the two ceilings, where every part of a forward stands under them, and what follows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click
from click.core import ParameterSource
from rich.console import Console

from minispec.cli.lists import Several
from minispec.cli.machine_report import (
    QUICK_LADDER,
    has_room,
    machine_facts,
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
from minispec.engine.backends.formats import AUTO, ITEM_BYTES, KV_DTYPES
from minispec.engine.control import DEFAULT_GAMMA
from minispec.engine.loading import load_model
from minispec.engine.loading.bundled import DEFAULT_DRAFT, DEFAULT_TARGET
from minispec.engine.loading.checkpoint import read_json
from minispec.engine.loading.folder import find_folder
from minispec.engine.model import GPT2Config
from minispec.errors import OptionError
from minispec.lab.roofline.forwards import Measured, check_positions, doubts_of_forwards, fit_positions
from minispec.lab.roofline.machine import Machine
from minispec.lab.roofline.predict import BatchPoint
from minispec.lab.roofline.shapes import Shape, get_shape
from minispec.lab.trust import sentence
from minispec.lab.viz.plots import style

TOLERANCE = 0.2
"""How far a prediction may be from the measurement before the command says so."""


@click.command(cls=Command)
@option("--target", type=ModelName(), default=DEFAULT_TARGET, help="The model to measure.")
@option("--draft", type=ModelName(), default=DEFAULT_DRAFT, help="The draft, whose memory is counted too.")
@option(
    "--shape",
    default=None,
    show_default="that of --target",
    help="Use a known shape instead: gpt2, gpt2-xl, 7b, 70b, …; a GPT-2 shape is measured with random weights.",
)
@option(
    "--machine",
    default=None,
    show_default="measure this one",
    help="Compute for a known machine from its public figures instead: a100, h100, rtx4090, m2-max, …; there keys and "
    "values take two bytes unless the weights are float32, or --kv-dtype says otherwise.",
)
@option(
    "--dtype",
    type=click.Choice((AUTO, *DTYPES)),
    default=AUTO,
    help="The format of the weights in memory; auto: the stored one, where the bits are the same; float32 with "
    "--shape, float16 with --machine.",
)
@kv_dtype_option
@option("--backend", type=click.Choice(BACKENDS), default=BACKENDS[0], help="What computes the forward pass.")
@option("--context", type=click.IntRange(min=0), default=256, help="Tokens in the cache.")
@option(
    "--rows",
    type=Several(click.IntRange(min=1)),
    default="1,2,3,4,5,6,7,8,9",
    help="Row counts to measure; 1 always is.",
)
@option(
    "--batch",
    type=Several(click.IntRange(min=1)),
    default="1,2,4,8,16,32,64",
    help="With --machine: sequences decoded together.",
)
@option("--draft-shape", default=None, show_default="none", help="With --machine: the draft, for the speedup.")
@option("--alpha", type=float, default=0.7, help="With --draft-shape: the acceptance probability per judged token.")
@option("--gamma", type=click.IntRange(min=1), default=DEFAULT_GAMMA, help="With --machine: drafted tokens per step.")
@option("--repeats", type=click.IntRange(min=1), default=7, help="Rounds of the measurement.")
@threads_option
@click.option("--memory", is_flag=True, help="Measure the pair's resident memory too, in a process of its own.")
@click.option(
    "--quick",
    is_flag=True,
    help="Measure less, where no option says how much: few sizes, three row counts, three rounds.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else on stdout.")
@click.option("--plot", type=FileName(), help="Write the figure to this file (.png, .svg or .pdf).")
def roofline(**options: Any) -> None:
    """Show why decoding is bound by memory, and how many rows can be verified for free.

    Without --machine, this measures the machine's limits, and the model's forward passes beside a read probe of the
    same size.
    """
    if options["plot"] is not None:
        style.check_output(options["plot"])
    _refuse_ignored(options)
    if options["machine"] is None:
        _measure(options)
    else:
        _what_if(options)


_MEASURED = ("--draft", "--backend", "--rows", "--repeats", "--memory", "--quick")
_PREDICTED = ("--batch", "--gamma", "--alpha")


def _refuse_ignored(options: dict[str, Any]) -> None:
    """Refuse flags without an effect beside the others; a MINISPEC_* variable may be meant for another command."""
    context = click.get_current_context()

    def is_given(flag: str) -> bool:
        return context.get_parameter_source(flag[2:].replace("-", "_")) is ParameterSource.COMMANDLINE

    predicting = options["machine"] is not None
    for flag in filter(is_given, _MEASURED if predicting else _PREDICTED):
        why = "for measuring, and --machine measures nothing" if predicting else "for --machine, and this measures"
        raise OptionError(f"{flag} is {why}. Leave {flag} out")
    if is_given("--alpha") and options["draft_shape"] is None:
        raise OptionError("--alpha is for --draft-shape, and there is none. Try --draft-shape 1b, or leave --alpha out")
    if is_given("--target") and options["shape"] is not None:
        raise OptionError("--target and --shape both say what the model is like. Leave one of the two out")


def _what_if(options: dict[str, Any]) -> None:
    from minispec.lab.roofline.counts import Storage
    from minispec.lab.roofline.machine import get_profile
    from minispec.lab.roofline.predict import over_batches

    machine = get_profile(options["machine"])
    shape = _target_shape(options["target"]) if options["shape"] is None else get_shape(options["shape"])
    draft = None if options["draft_shape"] is None else get_shape(options["draft_shape"])
    _check_context([shape] if draft is None else [shape, draft], options["context"], options["gamma"])
    storage = Storage("float16" if options["dtype"] == AUTO else options["dtype"])
    kv_dtype = options["kv_dtype"] if options["kv_dtype"] != AUTO else KV_DTYPES[storage.dtype != "float32"]
    kv_bytes = ITEM_BYTES[kv_dtype]
    points = over_batches(
        shape,
        machine,
        sorted(set(options["batch"])),
        context=options["context"],
        storage=storage,
        kv_bytes=kv_bytes,
        gamma=options["gamma"],
        alpha=options["alpha"],
        draft=draft,
    )
    assumed = f"{storage.dtype} weights, {kv_bytes}-byte cache, {options['context']} cached tokens each"
    if draft is not None:
        assumed += f"; draft {draft.name}, α = {options['alpha']:g} and independent, γ = {options['gamma']}"
    if options["as_json"]:
        click.echo(
            json.dumps(
                {
                    "machine": machine_facts(machine),
                    "shape": shape.name,
                    "parameters": shape.num_parameters,
                    "assumed": assumed,
                    "points": [asdict(point) for point in points],
                }
            )
        )
    else:
        _print_batches(machine, shape.name, storage.dtype, points, options["gamma"], assumed)
    if options["plot"] is not None:
        from minispec.lab.viz.plots.roofline import batch_figure

        title = f"{shape.name} on {machine.name}, at best"
        style.save(batch_figure(machine, points, title, assumed + "."), options["plot"])


def _check_context(shapes: Sequence[Shape], context: int, gamma: int) -> None:
    """Refuse more tokens than a table of positions has rows; rotations have no such end."""
    for shape in sorted(shapes, key=lambda each: each.n_positions):  # what fits the smaller one fits both
        if shape.learned_positions and context + gamma + 1 > shape.n_positions:
            fitting, rows = fit_positions(shape.n_positions, context, gamma + 1)
            shorter = "" if rows == gamma + 1 else f" --gamma {rows - 1}"
            raise OptionError(
                f"context is {context}; {shape.name} has {shape.n_positions} positions, and a step of {gamma} drafts "
                f"needs {gamma + 1} of them. Try --context {fitting}{shorter}"
            )


def _target_shape(name: str) -> Shape:
    """Return the shape of a model folder; its weights are not read."""
    config = find_folder(name) / "config.json"
    return Shape.from_config(GPT2Config.from_dict(read_json(config), str(config)), name)


def _print_batches(
    machine: Machine, name: str, dtype: str, points: Sequence[BatchPoint], gamma: int, assumed: str
) -> None:
    out = stdout()
    peak, bandwidth = machine.peak(dtype), machine.bandwidth(1)
    out.print(
        f"{machine.name}: {bandwidth / 1e9:,.0f} GB/s, {peak / 1e12:,.4g} TFLOP/s, "
        f"{(machine.memory_bytes or 0) / 1e9:,.0f} GB ({machine.source})"
    )
    out.print(f"{name}: {assumed}")
    out.print(f"ridge: {peak / bandwidth:.0f} operations per byte. Nothing is measured: these are floors.\n")
    rows = table("batch", "step", f"v({gamma + 1})", "bound", "tokens/s each", "tokens/s", "caches", "in all", "fits")
    if points[0].speedup is not None:
        for heading in ("c", "speedup"):
            rows.add_column(heading, justify="right", no_wrap=True)
    for point in points:
        row = [
            str(point.batch),
            time(point.step_s),
            f"{point.verify_cost:.2f}",
            point.bound,
            f"{1 / point.step_s:,.1f}",
            f"{point.tokens_per_s:,.0f}",
            size(point.cache_bytes),
            size(point.weights_bytes + point.cache_bytes),
            {None: "–", True: "yes", False: "no"}[point.fits],
        ]
        if point.speedup is not None:
            row += [f"{point.cost_ratio:.3f}", f"{point.speedup:.2f}x"]
        rows.add_row(*row)
    out.print(rows)
    if any(point.fits is False for point in points):
        out.print(f"\n“no”: weights and caches are larger than the memory of one {machine.name}.")


def _measure(options: dict[str, Any]) -> None:
    from minispec.engine.backends import get_backend
    from minispec.lab.roofline.counter import storage_of
    from minispec.lab.roofline.forwards import (
        count_regions,
        measure_forwards,
        model_storage,
        random_model,
        time_parts,
    )
    from minispec.lab.roofline.machine import LADDER_BYTES, describe_cpu, measure_machine
    from minispec.lab.roofline.memory import measure_pair, pair_memory
    from minispec.lab.roofline.shapes import to_config

    if options["memory"] and options["shape"] is not None:
        raise OptionError("--memory loads a pair, and --shape has no weights to load. Leave one of the two out")
    if options["draft_shape"] is not None:
        raise OptionError("--draft-shape is for --machine; here both models are real. Name one with --draft")
    rows, repeats = sorted({1, *options["rows"]}), options["repeats"]
    if options["quick"]:
        source = click.get_current_context().get_parameter_source
        rows = [1, 2, 6] if source("rows") is ParameterSource.DEFAULT else rows
        repeats = 3 if source("repeats") is ParameterSource.DEFAULT else repeats
    notes = Console(stderr=True, highlight=False)
    dtype = "float32" if options["dtype"] == AUTO and options["shape"] is not None else options["dtype"]
    kv_dtype = options["kv_dtype"]
    backend = get_backend(options["backend"])
    if options["shape"] is None:
        model = load_model(options["target"], options["backend"], dtype, kv_dtype)
    else:
        config = to_config(get_shape(options["shape"]))
        with notes.status("making random weights …"):
            model = random_model(config, backend, dtype, options["shape"], kv_dtype)
    draft = load_model(options["draft"], options["backend"], dtype, kv_dtype)
    check_positions(model, rows, options["context"])
    if options["memory"]:
        check_positions(draft, [1], options["context"])
    with notes.status("making kernels ready …"):
        model.backend.warm_up(model.dtype, model.kv_dtype)
    with notes.status("measuring this machine …"):
        machine = measure_machine(QUICK_LADDER if options["quick"] else LADDER_BYTES, repeats)
    with notes.status("measuring passes beside a read probe …"):
        measured = measure_forwards(model, machine, rows, options["context"], repeats)
        where = {count: time_parts(model, count, options["context"]) for count in (1, rows[-1])}
        regions = {count: count_regions(model, count, options["context"]) for count in (1, rows[-1])}
    pair = pair_memory(
        Shape.from_config(model.config, model.name),
        Shape.from_config(draft.config, draft.name),
        model_storage(model),
        storage_of(draft.backend, draft.dtype),
        ITEM_BYTES[model.kv_dtype],
    )
    resident = None
    if options["memory"]:
        with notes.status("measuring memory …"):
            resident = measure_pair(
                options["target"],
                options["draft"],
                backend=options["backend"],
                dtype=dtype,
                draft_dtype=dtype,
                kv_dtype=kv_dtype,
                tokens=options["context"],
            )
    facts = describe_cpu()
    if options["as_json"]:
        click.echo(
            json.dumps(
                {
                    "machine": facts | machine_facts(machine),
                    "model": model.name,
                    "dtype": model.dtype,
                    "kv_dtype": model.kv_dtype,
                    "backend": options["backend"],
                    "context": options["context"],
                    "repeats": repeats,
                    "forwards": [measured_facts(m) for m in measured],
                    "doubts": doubts_of_forwards(measured),
                    "part_seconds": {str(count): dict(times) for count, times in where.items()},
                    "parallel_regions": {str(count): number for count, number in regions.items()},
                    "memory": asdict(pair) | {"resident": None if resident is None else asdict(resident)},
                }
            )
        )
    else:
        out = stdout()
        print_machine(out, facts, machine, model.dtype)
        _print_parts(out, measured, where, regions)
        _print_measured(out, measured)
        _print_memory(out, pair, resident, options["context"])
    if options["plot"] is not None:
        from minispec.lab.viz.plots.roofline import measured_figure

        style.save(measured_figure(machine, measured, f"{model.name}, {model.dtype}"), options["plot"])


def _print_parts(
    out: Console, measured: Sequence[Measured], where: dict[int, Any], regions: dict[int, int | None]
) -> None:
    for m in (measured[0], measured[-1]):
        times = where[m.rows]
        rows = table("part", "MFLOP", "MB", "FLOP/byte", "floor", "bound by", "predicted", "measured")
        expected = {part.part.name: part for part in m.prediction.parts}
        for part in m.floor.parts:
            spent = times.get(part.part.name)
            if part.part.name == "attn.scores":
                spent = times.get("attention")
            rows.add_row(
                part.part.name,
                f"{part.part.flops / 1e6:.2f}",
                f"{part.part.total_bytes / 1e6:.2f}",
                f"{part.part.intensity:.2f}",
                time(part.seconds),
                part.bound,
                time(expected[part.part.name].seconds),
                "" if spent is None else time(spent),
            )
        whole = m.floor.whole
        rows.add_row("calls, Python", "", "", "", "", "", time(m.prediction.overhead_s), time(times["other"]))
        rows.add_row(
            "pass",
            f"{whole.flops / 1e6:.2f}",
            f"{whole.total_bytes / 1e6:.2f}",
            f"{whole.intensity:.2f}",
            time(m.floor.seconds),
            m.floor.bound,
            time(m.prediction.seconds),
            time(m.seconds),
            style="bold",
        )
        padding = 100 * whole.padding_bytes / whole.weight_bytes
        shared = "" if regions[m.rows] is None else f"; {regions[m.rows]} parallel regions"
        out.print(f"{m.rows} row{'s' if m.rows > 1 else ''} ({padding:.1f} % of the weight bytes are padding{shared})")
        out.print(rows)
        out.print()
    out.print("A fused norm or activation is measured with its matrix, scores and values of the attention together.\n")


def _print_measured(out: Console, measured: Sequence[Measured]) -> None:
    spread = ("from", "to") if has_room(out) else ()
    times = "measured", *spread, "floor", "floor\n/ it", "predicted", "it /\npredicted"
    rows = table("rows", *times, "v(m)", "v pre-\ndicted", "bound\nby")
    for m in measured:
        rows.add_row(
            str(m.rows),
            time(m.seconds),
            *(time(end) for end in m.spread if spread),
            time(m.floor.seconds),
            f"{1 / m.floor_ratio:.2f}",
            time(m.prediction.seconds),
            f"{m.ratio:.2f}",
            f"{m.verify_cost:.2f}",
            f"{m.prediction.seconds / measured[0].prediction.seconds:.2f}",
            m.floor.bound,
        )
    out.print(rows)
    first = measured[0].floor
    out.print(
        f"\n{first.footprint_bytes / 1e6:.0f} MB per pass, probed in the same rounds at "
        f"{first.bandwidth_bytes_per_s / 1e9:.1f} GB/s; ridge at {first.ridge:.1f} operations per byte."
    )
    found = doubts_of_forwards(measured)
    if found:
        out.print(sentence(found), markup=False)
        return
    outside = [str(m.rows) for m in measured if abs(m.ratio - 1) > TOLERANCE]
    if outside:
        out.print(
            f"whole passes take more than {TOLERANCE:.0%} more or less than predicted at rows {', '.join(outside)}"
        )
    else:
        out.print(f"whole passes take what is predicted, within {TOLERANCE:.0%}, at all rows")


def _print_memory(out: Console, pair: Any, resident: Any, context: int) -> None:
    out.print(
        f"\nmemory of the pair: weights {size(pair.target_weights_bytes)} + {size(pair.draft_weights_bytes)}, "
        f"caches {size(pair.target_cache_bytes)} + {size(pair.draft_cache_bytes)} when full, "
        f"{pair.bytes_per_token / 1e3:.1f} kB per token"
    )
    if resident is not None:
        grown, loaded = resident.filled_bytes - resident.loaded_bytes, resident.loaded_bytes - resident.started_bytes
        out.print(
            f"measured: loading the pair takes {size(loaded)} (predicted {size(pair.resident_bytes(0))}, and "
            f"tokenizers); {context} tokens {size(grown)} (predicted {size(context * pair.bytes_per_token)}; the "
            f"system hands out up to 2 MB at a time); peak {size(resident.peak_bytes)}, of which "
            f"{size(resident.started_bytes)} before any model"
        )
