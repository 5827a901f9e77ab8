"""An experiment's findings as data, as a table for other programs, and as a page."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from minispec.analysis.intervals import Figure
from minispec.analysis.measure.grid import Experiment, Variant
from minispec.analysis.measure.record import Record
from minispec.analysis.measure.summary import Summary, decode_seconds, total_seconds

INTERVALS = (
    "Intervals are at 95 %: of shares (identical, right answers) Wilson's, of all else Student's t with the jackknife "
    "over prompts, on log odds for acceptances."
)


def likeness(experiment: Experiment) -> str:
    """Say in one sentence what was held alike."""
    timing = (
        f"{experiment.repeats} timed rounds in turns after an untimed one; per prompt the median round counts"
        if experiment.repeats
        else "not timed"
    )
    return (
        f"{len(experiment.prompts)} prompts, each decoded in every way with one seed and to one length, "
        f"{experiment.max_tokens} tokens (the end of the text is forbidden before that); {timing}."
    )


def to_dict(
    experiment: Experiment, records: Sequence[Record], summaries: Sequence[Summary], machine: Mapping[str, Any]
) -> dict[str, Any]:
    """Return everything as JSON-able data."""
    return {
        "settings": experiment.settings(),
        "machine": dict(machine),
        "alike": likeness(experiment),
        "intervals": INTERVALS,
        "summaries": [_plain_data(asdict(summary), summary) for summary in summaries],
        "records": [asdict(record) for record in records],
    }


def _plain_data(fields: dict[str, Any], summary: Summary) -> dict[str, Any]:
    for name in fields:
        value = getattr(summary, name)
        if isinstance(value, Figure):
            fields[name] = value._asdict()
    return fields


_COLUMNS = (
    "target", "draft", "gamma", "temperature", "verify", "prompt_id", "domain", "guarantee", "num_prompt_tokens",
    "num_tokens", "num_steps", "num_draft_tokens", "num_accepted_tokens", "num_evaluated_tokens",
    "num_recovered_tokens", "num_bonus_tokens", "logprob", "same_tokens", "right",
)  # fmt: skip


def to_csv(records: Sequence[Record]) -> str:
    """Return a row per prompt and variant; seconds are those of the median round."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*_COLUMNS, "decode_s", "total_s"])
    for record in records:
        seconds = [decode_seconds(record), total_seconds(record)] if record.decode_s else ["", ""]
        values = [getattr(record, name) for name in _COLUMNS]
        writer.writerow(["" if value is None else value for value in values] + seconds)
    return text.getvalue()


def label(variant: Variant) -> str:
    """Name a variant in a table."""
    return "plain" if variant.draft is None else variant.draft


def shown(figure: Figure, form: str = "{:.2f}", factor: float = 1.0) -> str:
    """Write a figure with its interval.

    Examples
    --------
    >>> shown(Figure(1.5, 1.25, 1.75), "{:.2f}x")
    '1.50x [1.25, 1.75]'
    >>> shown(Figure(None))
    '–'
    """
    if figure.value is None:
        return "–"
    text = form.format(figure.value * factor)
    if figure.low is None or figure.high is None:
        return text
    bare = form.split("}")[0] + "}"
    return f"{text} [{bare.format(figure.low * factor)}, {bare.format(figure.high * factor)}]"


Table = tuple[tuple[str, ...], list[tuple[str, ...]]]
"""Headings and rows."""


def tables(summaries: Sequence[Summary]) -> dict[str, Table]:
    """Return the tables of a report by title; one about time only if time was measured."""
    several = {
        "target": len({s.variant.target for s in summaries}) > 1,
        "T": len({s.variant.temperature for s in summaries}) > 1,
        "rule": len({s.variant.verify for s in summaries if not s.variant.plain}) > 1,
        "text": len({s.domain for s in summaries}) > 1,
    }

    def table(columns: Mapping[str, Any], chosen: Sequence[Summary]) -> Table:
        heads = {
            "target": lambda s: s.variant.target,
            "T": lambda s: f"{s.variant.temperature:g}",
            "draft": lambda s: label(s.variant),
            "rule": lambda s: "" if s.variant.plain else s.variant.verify,
            "γ": lambda s: "" if s.variant.plain else str(s.variant.gamma),
            "text": lambda s: s.domain or "all",
        }
        kept = {name: get for name, get in heads.items() if several.get(name, True)} | dict(columns)
        return tuple(kept), [tuple(get(s) for get in kept.values()) for s in chosen]

    drafting = [s for s in summaries if not s.variant.plain]
    found = {"Acceptance": table(_ACCEPTANCE, drafting)}
    if any(s.num_timings for s in summaries):
        found["Time"] = table(_TIME, summaries)
        found["Latency"] = table(_LATENCY, summaries)
    found["Tokens"] = table(_TOKENS, drafting)
    found["Quality"] = table(_QUALITY, summaries)
    return found


def _positions(summary: Summary) -> str:
    return " ".join("–" if a is None else f"{a:.2f}" for a in summary.acceptance_by_position[:8])


def _milliseconds(values: Mapping[str, float] | None) -> str:
    return "–" if values is None else " / ".join(f"{1e3 * value:.1f}" for value in values.values())


_ACCEPTANCE = {
    "τ": lambda s: shown(s.mean_acceptance_length),
    "accepted/drafted": lambda s: shown(s.draft_acceptance_rate, "{:.1f} %", 100),
    "α": lambda s: shown(s.alpha, "{:.1f} %", 100),
    "α by position": _positions,
}
_TIME = {
    "ms/token": lambda s: shown(s.s_per_token, "{:.2f}", 1e3),
    "speedup": lambda s: "1 (baseline)" if s.variant.plain else shown(s.speedup, "{:.2f}x"),
    "with prefill": lambda s: "1 (baseline)" if s.variant.plain else shown(s.total_speedup, "{:.2f}x"),
}
_LATENCY = {
    "first token": lambda s: _milliseconds(s.ttft_s),
    "per token after": lambda s: _milliseconds(s.tpot_s),
    "between bursts": lambda s: _milliseconds(s.step_s),
    "whole run": lambda s: _milliseconds(s.total_s),
}
_TOKENS = {
    name: (lambda s, name=name: str(s.counts[name]))
    for name in ("emitted", "steps", "drafted", "accepted", "rejected", "recovered", "bonus")
}


def _identical(summary: Summary) -> str:
    if summary.variant.plain:
        return "–"
    same = round((summary.identical.value or 0.0) * summary.num_prompts)
    return f"{same} of {summary.num_prompts}" + (", promised" if summary.identical_promised else "")


_QUALITY = {
    "same tokens as plain": _identical,
    "log-lik./token": lambda s: shown(s.logprob, "{:.3f}"),
    "minus plain's": lambda s: "–" if s.variant.plain else shown(s.logprob_difference, "{:+.3f}"),
    "right answers": lambda s: shown(s.accuracy, "{:.0f} %", 100),
    "guarantee": lambda s: s.guarantee,
}

NOTES = {
    "Acceptance": "τ: tokens per target forward. α: accepted / judged; what lies behind a rejection was not judged.",
    "Time": "Of the steps, plain / this; with prefill: of the whole run.",
    "Latency": "Milliseconds, P50 / P90 / P99 over the timed runs; between bursts: over their steps.",
    "Tokens": "Rejected: drafted and not accepted. Recovered and bonus: drawn from the target's side.",
    "Quality": "Log-likelihood: the target's own, per token of what was written; the difference is paired by prompt.",
}


def to_markdown(experiment: Experiment, summaries: Sequence[Summary], machine: Mapping[str, Any]) -> str:
    """Return a page with every table."""
    parts = [f"# {' and '.join(experiment.targets)}, like for like", likeness(experiment), _machine(machine)]
    for title, (heads, rows) in tables(summaries).items():
        lines = [heads, ["---"] * len(heads), *rows]
        table = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
        parts += [f"## {title}", NOTES[title], table]
    return "\n\n".join([*parts, INTERVALS]) + "\n"


def _machine(machine: Mapping[str, Any]) -> str:
    return "Machine: " + ", ".join(f"{name} {value}" for name, value in machine.items()) + "."
