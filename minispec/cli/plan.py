"""``minispec plan``: what speculation will gain, and how long to draft."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.console import Console
from rich.table import Table

from minispec.cli.options import DRAFTING, FileName, ModelName, check_spared, option, threads_option
from minispec.cli.sections import Command
from minispec.engine.backends import BACKENDS, DTYPES, GPU_BACKENDS
from minispec.engine.backends.formats import AUTO
from minispec.engine.control import DEFAULT_GAMMA
from minispec.engine.drafters.spec import parse_draft
from minispec.engine.files import check_apart
from minispec.engine.generation.options import Options
from minispec.engine.loading.bundled import DEFAULT_DRAFT, DEFAULT_TARGET
from minispec.errors import OptionError
from minispec.lab.explain import advice
from minispec.lab.explain.engines import Acceptance, read_acceptance
from minispec.lab.explain.plan import MAX_GAMMA, Measured, Plan, check_max_gamma, make_plan, measure_plan, rate_note
from minispec.lab.explain.step_costs import VerifyCurve
from minispec.lab.measure.report import format_figure
from minispec.lab.prompts import bundled_prompts, read_prompts
from minispec.lab.roofline.machine import get_profile
from minispec.lab.viz.plots import style
from minispec.lab.viz.plots.theory import plan_figure
from minispec.theory import VerifyCost, alpha_from_drafts, can_pay
from minispec.theory.intervals import Figure

_DEFAULTS = Options()
_WITH_COST = "verify_cost", "overhead", "max_gamma", "machine"


class VerifyPoint(click.ParamType):  # type: ignore[type-arg]  # generic only in newer releases
    """``ROWS=V``, a point of the curve v(m); or ``V``, the same for every draft."""

    name = "v|rows=v"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int | None, float]:
        """Return rows (None for all) and v."""
        if isinstance(value, tuple):
            return value
        rows, equals, cost = str(value).rpartition("=")
        try:
            return int(rows) if equals else None, float(cost)
        except ValueError:
            self.fail(f"{value!r} is neither V nor ROWS=V. Try 1.3 or 6=1.3", param, ctx)


@click.command(cls=Command)
@click.option(
    "--from",
    "source",
    metavar="SOURCE",
    help="What vLLM, SGLang or llama.cpp reports: a metrics page (an address, or saved) or answers (JSON).",
)
@click.option("--since", metavar="SOURCE", help="With --from: an earlier reading of the page, to be subtracted.")
@click.option(
    "--machine",
    metavar="NAME",
    help="With --from and --cost-ratio: the card it runs on, as in minispec roofline, for the batch at which drafts "
    "stop paying.",
)
@click.option("--alpha", type=float, help="The probability that a judged draft token is accepted, in [0, 1].")
@click.option("--drafted", type=int, help="Tokens that a run drafted; give --accepted and --gamma too.")
@click.option("--accepted", type=int, help="Tokens of that run that were accepted.")
@click.option(
    "--gamma",
    type=int,
    help="With --drafted, the tokens drafted per step; with --measured, those to draft "
    f"(default: {DEFAULT_GAMMA}); else a draft length to show.",
)
@click.option("--cost-ratio", type=float, help="c: the time to draft a token, in plain steps.")
@click.option(
    "--verify-cost",
    type=VerifyPoint(),
    multiple=True,
    help="v: the time of a verifying forward pass, in plain steps; or ROWS=V for that many rows, repeated.",
)
@click.option("--overhead", type=float, help="o: the other time that a speculative step adds, in plain steps.")
@click.option("--max-gamma", type=int, default=MAX_GAMMA, show_default=True, help="The longest draft to consider.")
@click.option("--measured", is_flag=True, help="Measure alpha and the costs on the bundled prompts.")
@click.option("--prompts", type=FileName(), help="Measure them on the prompts in this file.")
@click.option("--limit", type=click.IntRange(min=1), help="Measure on the first N prompts only.")
@option("--target", type=ModelName(), default=DEFAULT_TARGET, help="The target to measure.")
@option("--draft", type=ModelName(*DRAFTING), default=DEFAULT_DRAFT, help="The draft to measure.")
@option("--temperature", type=float, default=_DEFAULTS.temperature, help="Temperature to measure at; 0 is greedy.")
@option("--max-tokens", type=int, default=64, help="Tokens per prompt in the measurement.")
@option(
    "--backend", type=click.Choice((*BACKENDS, *GPU_BACKENDS)), default=BACKENDS[0], help="The backend to measure on."
)
@option("--dtype", type=click.Choice((AUTO, *DTYPES)), default=AUTO, help="The weights' format there.")
@threads_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else on stdout.")
@click.option(
    "--plot", "plot_file", type=FileName(), help="Plot the speedup by draft length to this file (.png, .svg or .pdf)."
)
def plan(
    source: str | None,
    since: str | None,
    machine: str | None,
    alpha: float | None,
    drafted: int | None,
    accepted: int | None,
    gamma: int | None,
    cost_ratio: float | None,
    verify_cost: tuple[tuple[int | None, float], ...],
    overhead: float | None,
    max_gamma: int,
    measured: bool,
    prompts: Path | None,
    as_json: bool,
    plot_file: Path | None,
    **where: Any,
) -> None:
    """Say what speculation will gain and how many tokens to draft.

    \b
    minispec plan --alpha 0.8 --cost-ratio 0.1
    minispec plan --drafted 1000 --accepted 720 --gamma 5 --cost-ratio 0.1
    minispec plan --from http://127.0.0.1:8000 --cost-ratio 0.05
    minispec plan --measured
    """  # noqa: D301  # \b tells click to leave the lines alone
    if plot_file is not None:
        style.check_output(plot_file)
    check_apart({"--prompts": prompts, "--plot": plot_file})
    check_spared({"--plot": plot_file}, where)
    measuring = measured or prompts is not None
    _check_source(source, since, machine, plot_file)
    _check(source, alpha, drafted, accepted, gamma, cost_ratio, measuring)
    _check_lengths(gamma, max_gamma, counted=drafted is not None)
    if not measuring:
        _refuse_ignored(where, "is for measuring, and nothing is measured. Add --measured")
    elif not verify_cost:
        _refuse_ignored(["overhead"], "has no effect: the measured v(m) holds what a step adds. Add --verify-cost 1.3")
    if cost_ratio is None and not measuring:
        _refuse_ignored(_WITH_COST, "has no effect without c. Add --cost-ratio 0.1")
    if source is not None:
        costs = cost_ratio, _verify(verify_cost, None), _fall_back(overhead, 0.0)
        _advise(read_acceptance(source, gamma, since), costs, max_gamma, machine, as_json=as_json)
        return
    found = _measure(prompts, gamma, where) if measuring else None
    acceptance, told = _alpha(alpha, drafted, accepted, gamma, found)
    made = make_plan(
        acceptance,
        _fall_back(cost_ratio, 0.0 if found is None else found.cost_ratio),
        _verify(verify_cost, found),
        _fall_back(overhead, _overhead(verify_cost, found)),
        max_gamma,
    )
    if as_json:
        measured_data = None if found is None else found.to_dict()
        report = {**_to_dict(made), "source": told, "measured": measured_data}
        click.echo(json.dumps(report))
    else:
        assumed = found is None and not verify_cost
        assumptions = {
            "v = 1 (verifying costs no more than a plain step)": assumed,
            "o = 0 (the rest of a step costs nothing)": found is None and overhead is None,
        }
        taken = [name for name, there in assumptions.items() if there]
        _show(made, told, gamma, found, taken)
    if plot_file is not None:
        style.save(plan_figure(made), plot_file)


def _advise(
    found: Acceptance,
    costs: tuple[float | None, VerifyCost, float],
    max_gamma: int,
    machine: str | None,
    *,
    as_json: bool,
) -> None:
    """Say what an engine's report means and what follows; without c, what would follow from some."""
    cost_ratio, verify_cost, overhead = costs
    ridge = None if machine is None else get_profile(machine).ridge("float16", 1)
    given = None
    if cost_ratio is not None:
        given = advice.advise(found, cost_ratio, verify_cost, overhead, max_gamma, ridge)
    if as_json:
        click.echo(json.dumps(advice.to_dict(found, given)))
        return
    out = Console(highlight=False)
    _show_acceptance(out, found)
    if given is not None:
        _show_advice(out, found, given, machine)
    else:
        row = ", ".join(f"{c:g}: γ {b.gamma}, {b.speedup:.2f}x" for c, b in advice.best_by_cost(found).items())
        out.print(f"\nbest γ by c (v = 1, o = 0): {row}", soft_wrap=True)
        for line in (
            "c is not given. To find it:",
            "1. Measure u: the seconds per token without drafts.",
            "2. Measure s(1) and s(5): the seconds of a step with drafts of 1 and of 5 tokens. Here, "
            f"{advice.COSTS_OF[found.engine]}.",
            "3. c is at most (s(5) - s(1)) / (4 u), and v + o at most s(1) / u - c. Pass c as --cost-ratio.",
        ):
            out.print(line, soft_wrap=True, markup=False)
    for odd in advice.oddities(found):
        out.print(f"odd: {odd}", soft_wrap=True, markup=False)


def _show_acceptance(out: Console, found: Acceptance) -> None:
    counts = "no counts"
    if found.drafted is not None:
        steps = "" if found.steps is None else f" in {found.steps} steps"
        counts = f"{found.accepted} of {found.drafted} drafted tokens accepted{steps}"
    length = "" if found.length is None else f"; {found.length:.2f} tokens per step with the target's own"
    out.print(f"{found.engine}: {counts}{length}", soft_wrap=True, markup=False)
    out.print(f"α = {format_figure(found.alpha, '{:.3f}')}, accepted / judged", markup=False)
    if found.places:
        table = Table(box=None, pad_edge=False)
        for head in ("place", "accepted", "judged", "α there"):
            table.add_column(head, justify="right")
        for i, ((accepted, judged), figure) in enumerate(zip(found.places, found.by_place, strict=True), 1):
            table.add_row(str(i), str(accepted), str(judged), format_figure(figure, "{:.3f}").replace("[", "\\["))
        out.print(table)
    out.print(f"({found.meaning}.)", soft_wrap=True, markup=False)


def _show_advice(out: Console, found: Acceptance, given: advice.Advice, machine: str | None) -> None:
    best, now = given.best, found.gamma
    if best.gamma == 0:
        out.print("\nno draft length pays: plain decoding is faster")
    else:
        out.print(f"\nbest γ {best.gamma}: speedup {best.speedup:.2f}x, τ {best.tokens_per_step:.2f}")
    if now is not None and given.gain.value is not None:
        length = given.lengths[now - 1]
        change = (
            "stay" if best.gamma == now else "plain decoding instead" if best.gamma == 0 else f"γ {best.gamma} instead"
        )
        out.print(
            f"now γ {now}: speedup {format_figure(length.speedup, '{:.2f}x')}; {change}: "
            f"{format_figure(given.gain, '{:.2f}x')} the present speed",
            markup=False,
            soft_wrap=True,
        )
    if given.most_verify is not None:
        rows = (now or best.gamma) + 1
        out.print(
            f"it pays while a pass over {rows} rows each takes less than {given.most_verify:.2f} plain steps, "
            "which batches raise",
            soft_wrap=True,
        )
    if given.batch is not None:
        said = f"batches of up to about {given.batch:.0f}" if given.batch >= 1 else "no batch"
        out.print(f"on {machine} (data sheet, 16-bit weights, short contexts): {said}")


def _fall_back(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value


def _check_source(source: str | None, since: str | None, machine: str | None, plot_file: Path | None) -> None:
    """Refuse what belongs to a report where there is none, and the plot where there is one."""
    if source is not None and plot_file is not None:
        raise OptionError("--plot draws the speedups of --alpha or of counts, not of --from. Leave it out")
    for flag, value in (("--since", since), ("--machine", machine)):
        if source is None and value is not None:
            raise OptionError(f"{flag} is {value!r}, and it belongs to --from. Add --from SOURCE, or leave it out")
    if machine is not None:
        get_profile(machine)


def _check(
    source: str | None,
    alpha: float | None,
    drafted: int | None,
    accepted: int | None,
    gamma: int | None,
    cost_ratio: float | None,
    measuring: bool,
) -> None:
    """Refuse flags that contradict each other, and too few of them."""
    counted = drafted is not None or accepted is not None
    if (source is not None) + (alpha is not None) + counted + measuring != 1:
        named = [
            name
            for name, there in (
                ("--from", source is not None),
                ("--alpha", alpha is not None),
                ("--drafted/--accepted", counted),
                ("--measured/--prompts", measuring),
            )
            if there
        ]
        raise OptionError(
            f"alpha comes from {' and '.join(named) or 'nowhere'}; give one of --alpha A, --drafted D --accepted K "
            "--gamma G, --from SOURCE, or --measured"
        )
    if counted and (drafted is None or accepted is None or gamma is None):
        raise OptionError(
            "drafted, accepted and gamma belong together: accepted / drafted is not alpha, and gamma leads from one to "
            "the other. Try --drafted 1000 --accepted 720 --gamma 5"
        )
    if not measuring and source is None and cost_ratio is None:
        raise OptionError("the cost ratio c is missing. Give --cost-ratio 0.1, or let --measured find it")


def _check_lengths(gamma: int | None, max_gamma: int, *, counted: bool) -> None:
    """Refuse a draft length that is none; and one that is to be shown and is not looked at."""
    check_max_gamma(max_gamma)
    if gamma is None:
        return
    if gamma < 1:
        raise OptionError(f"gamma is {gamma}; a draft has at least 1 token. Try --gamma 5")
    if gamma > max_gamma and not counted:
        raise OptionError(
            f"gamma is {gamma} and max-gamma {max_gamma}; what is shown must be looked at. Try --max-gamma {gamma}"
        )


def _refuse_ignored(names: Iterable[str], why: str) -> None:
    """Refuse flags that would have no effect; a MINISPEC_* variable may be meant for another command."""
    source = click.get_current_context().get_parameter_source
    for name in names:
        if source(name) is ParameterSource.COMMANDLINE:
            flag = "--" + name.replace("_", "-")
            raise OptionError(f"{flag} {why}, or leave {flag} out")


def _measure(prompts: Path | None, gamma: int | None, where: dict[str, Any]) -> Measured:
    limit, target, draft = where.pop("limit"), where.pop("target"), where.pop("draft")
    if draft == "none" or parse_draft(draft).is_tree:
        raise OptionError(f"draft is {draft!r}; a plan is about chains of drafts. Try --draft ngram")
    chosen = (bundled_prompts() if prompts is None else read_prompts(prompts))[:limit]
    with Console(stderr=True).status(f"measuring on {len(chosen)} prompts …"):
        return measure_plan(chosen, target, draft, DEFAULT_GAMMA if gamma is None else gamma, **where)


def _alpha(
    alpha: float | None, drafted: int | None, accepted: int | None, gamma: int | None, found: Measured | None
) -> tuple[Figure, str]:
    """Return alpha and where it is from."""
    if found is not None:
        return found.alpha, f"measured: accepted / judged over {found.num_prompts} prompts at γ = {found.gamma}"
    if alpha is not None:
        return Figure(alpha), "given"
    assert drafted is not None
    assert accepted is not None
    assert gamma is not None
    estimate = alpha_from_drafts(accepted, drafted, gamma)
    return Figure(*estimate), (
        f"from {accepted} of {drafted} drafted tokens accepted ({100 * accepted / drafted:.1f} %, which is not α: "
        f"tokens after a rejection were not tested), {gamma} at a time"
    )


def _verify(points: tuple[tuple[int | None, float], ...], found: Measured | None) -> VerifyCost:
    if not points:
        return 1.0 if found is None else found.verify
    counts = [rows for rows, _ in points]
    for rows, cost in points:
        written = f"{cost:g}" if rows is None else f"{rows}={cost:g}"
        if rows is not None and rows < 2:
            raise OptionError(f"verify cost is {written}; ROWS is at least 2, one draft and one more. Try 6={cost:g}")
        if counts.count(rows) > 1:
            what = "all drafts" if rows is None else f"{rows} rows"
            raise OptionError(f"there are two verify costs for {what}; one of them would be ignored. Leave one out")
        if cost < 1.0:
            raise OptionError(
                f"verify cost is {written}; more rows take no less time than one, so v is at least 1. Try 1.3, or "
                "ROWS=V like 6=1.3"
            )
    flat = [cost for rows, cost in points if rows is None]
    if flat and len(points) > 1:
        raise OptionError("one verify cost for all drafts and others as well; give one number, or ROWS=V points")
    return flat[0] if flat else VerifyCurve({rows: cost for rows, cost in points if rows is not None})


def _overhead(points: tuple[tuple[int | None, float], ...], found: Measured | None) -> float:
    """Return o where none is given: the measured one, unless the measured curve is used, which holds it."""
    return max(0.0, found.overhead) if found is not None and points else 0.0  # below 0 it is noise


def _to_dict(made: Plan) -> dict[str, Any]:
    fields = asdict(made)
    fields["alpha"] = made.alpha._asdict()
    for length, told in zip(made.lengths, fields["lengths"], strict=True):
        told["speedup"] = length.speedup._asdict()
    for name in ("best", "best_low", "best_high"):
        fields[name] = getattr(made, name)._asdict()
    fields["sensitivity"] = [
        {"alpha": alpha, "cost_ratio": c, **best._asdict()}
        for alpha, row in made.sensitivity.items()
        for c, best in row.items()
    ]
    return fields


def _show(made: Plan, source: str, asked: int | None, found: Measured | None, taken: list[str]) -> None:
    out = Console(highlight=False)
    alpha, best = made.alpha, made.best
    assert alpha.value is not None
    interval = "" if alpha.low is None else f" [{alpha.low:.3f}, {alpha.high:.3f}]"
    out.print(f"α = {alpha.value:.3f}{interval}, {source}", markup=False)
    if found is not None:
        tau, gain = found.tau, found.speedup
        out.print(
            f"measured at γ = {found.gamma}: τ {tau.value:.2f}, speedup {gain.value:.2f}x; c {found.cost_ratio:.3f}, "
            f"v({found.gamma + 1}) {found.verify_cost:.2f}, o {found.overhead:+.3f}, in units of a plain step"
        )
        if found.verify.warning is not None:
            out.print(found.verify.warning, markup=False)
    if best.gamma == 0:
        out.print("\nno draft length pays: plain decoding is faster")
    else:
        ends = sorted((made.best_low.gamma, made.best_high.gamma))
        spread = "" if ends[0] == ends[1] else f" (γ {ends[0]} to {ends[1]} over α's interval)"
        out.print(f"\nbest γ {best.gamma}{spread}: speedup {best.speedup:.2f}x, τ {best.tokens_per_step:.2f}")
    if taken:
        out.print(
            f"assumes {' and '.join(taken)}, which flatters drafts. To find yours: `minispec plan --measured`, or "
            "`minispec generate PROMPT --compare --details`; pass them with --verify-cost and --overhead",
            markup=False,
        )
    if best.gamma == 0 and can_pay(alpha.value, made.cost_ratio):
        out.print(
            f"α > c ({alpha.value:.3f} > {made.cost_ratio:.3f}): drafts would pay if verification and the rest "
            "of a step cost no more than a plain step"
        )
    elif best.gamma == 0:
        out.print(f"α ≤ c ({alpha.value:.3f} ≤ {made.cost_ratio:.3f}): no draft pays, however cheap verification is")
    elif best.gamma == len(made.lengths) - 1:
        out.print(f"γ {best.gamma} is the longest that was looked at; --max-gamma looks further")
    shown = {best.gamma - 1, best.gamma, best.gamma + 1, 1, asked or 0, 0 if found is None else found.gamma} - {0, -1}
    table = Table(box=None, pad_edge=False)
    for head in ("γ", "τ", "speedup", "pays if α >", "or accepted/drafted >", "or c <"):
        table.add_column(head, justify="right")
    for length in made.lengths:
        if length.gamma in shown:
            gain = length.speedup
            low = "" if gain.low is None else f" [{gain.low:.2f}, {gain.high:.2f}]"
            table.add_row(
                str(length.gamma),
                f"{length.tau:.2f}",
                f"{gain.value:.2f}x{low}",
                _share(length.break_even_alpha),
                _share(length.break_even_rate),
                _never_or(length.break_even_cost),
            )
    out.print()
    out.print(table)
    out.print("\nIf α or c were others: best γ and speedup there")
    grid = Table(box=None, pad_edge=False)
    grid.add_column("α \\ c")
    for cost in next(iter(made.sensitivity.values())):
        grid.add_column(f"{cost:.3g}", justify="right")
    for value, row in made.sensitivity.items():
        grid.add_row(f"{value:.3f}", *(f"γ {b.gamma}  {b.speedup:.2f}x" for b in row.values()))
    out.print(grid)
    out.print(f"\n{rate_note(alpha, max(1, best.gamma))}", markup=False)


def _share(value: float | None) -> str:
    """Write what cannot be more than 1."""
    return _never_or(None if value is not None and value > 1.0 else value)


def _never_or(value: float | None) -> str:
    return "never" if value is None else f"{value:.3f}"
