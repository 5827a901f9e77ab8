"""``minispec serve canary``: the arms of a rollout side by side."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from minispec.cli.options import FileName
from minispec.cli.sections import Command
from minispec.errors import InputError
from minispec.serving.rollout import ARMS, Comparison, compare, judge, read_log
from minispec.theory.intervals import Figure


@click.command(cls=Command, short_help="Compare the arms of a rollout.")
@click.argument("log", type=FileName())
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else on stdout.")
def canary(log: Path, as_json: bool) -> None:
    """Compare the arms in LOG, a file that `minispec serve --canary SHARE --canary-log LOG` writes.

    Each interval is a 95 % confidence interval, valid if you look once. The server looks several times, and is
    stricter.
    """
    seen, verdict = read_log(log)
    if not seen:
        raise InputError(f"{log} has no requests yet; come back when some have ended")
    found = compare(seen)
    if as_json:
        click.echo(json.dumps({**asdict(found), "verdict": verdict}))
        return
    out = Console(highlight=False)
    out.print(_table(found))
    loss = judge(found, lossless=True)
    if verdict is not None:
        out.print(f"the server went back to the baseline: {verdict}", markup=False)
    elif loss is not None:
        out.print(f"as it stands, the canary loses: {loss}", markup=False)
    else:
        out.print(_conclude(found.tpot_ratio), markup=False)


def _conclude(times: Figure) -> str:
    """Say what the seconds per token show where the canary has not lost."""
    if times.low is None or times.high is None:
        return "undecided: too few requests for an interval; come back when more have ended"
    told = f"{_figure(times)} times the baseline's seconds per token"
    if times.low <= 1.0 <= times.high:
        return f"undecided: the canary takes {told}, and the interval contains 1"
    return f"as it stands, the canary does not lose: it takes {told}"


def _table(found: Comparison) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("", *ARMS, "against baseline"):
        table.add_column(heading)  # may wrap: 80 columns, also a pipe's, must not cut a number off
    arms = [found.arms[arm] for arm in ARMS]
    table.add_row("requests", *(str(arm.num_requests) for arm in arms), "")
    lengths = (f"{arm.num_tokens / max(1, arm.num_requests):.1f}" for arm in arms)
    table.add_row("tokens per request", *lengths, _figure(found.length_ratio, " x"))
    latencies = (("tpot_s", "ms per token", found.tpot_ratio), ("ttft_s", "ms to first token", found.ttft_ratio))
    for name, label, against in latencies:
        times = [getattr(arm, name) for arm in arms]
        told = ("-" if each is None else f"P50 {1e3 * each['p50']:.1f}\nP99 {1e3 * each['p99']:.1f}" for each in times)
        table.add_row(label, *told, _figure(against, " x"))
    table.add_row("tokens per pass", *(_figure(arm.tokens_per_forward) for arm in arms), "")
    table.add_row("drafts accepted", *(_figure(arm.acceptance) for arm in arms), "")
    table.add_row("ended by themselves", *(_figure(arm.ended_by_eos) for arm in arms), "")
    table.add_row("mean log probability", "", "", _figure(found.logprob_difference))
    return table


def _figure(figure: Figure, unit: str = "") -> str:
    if figure.value is None:
        return "-"
    bounds = "" if figure.low is None else f" [{figure.low:.2f}, {figure.high:.2f}]"
    return f"{figure.value:.2f}{unit}{bounds}"
