"""A sweep's findings as data, as a table for other programs, and as a page."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from minispec.engine.generation.broken import Watch
from minispec.lab.measure.record import Record, Variant
from minispec.lab.measure.summary import Summary, decode_seconds, total_seconds
from minispec.lab.measure.sweep import Sweep
from minispec.lab.trust import sentence
from minispec.theory.intervals import Figure

INTERVALS = (
    "Intervals are at 95 %: of shares (identical, right answers) Wilson's, of all else Student's t with the jackknife "
    "over prompts, on log odds for acceptances and on logarithms for speedups."
)


def likeness(sweep: Sweep) -> str:
    """Say in one sentence what was held alike."""
    rounds = "one timed round" if sweep.repeats == 1 else f"{sweep.repeats} timed rounds"
    timing = (
        f"{rounds} in turns after an untimed one; per prompt the median round counts" if sweep.repeats else "not timed"
    )
    return (
        f"{count_of(len(sweep.prompts), 'prompt')}, each decoded in every way with one seed and to one length, "
        f"{count_of(sweep.max_tokens, 'token')} (the end of the text is forbidden before that); {timing}."
    )


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> count_of(1, "prompt"), count_of(2, "prompt")
    ('1 prompt', '2 prompts')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def to_dict(
    sweep: Sweep, records: Sequence[Record], summaries: Sequence[Summary], machine: Mapping[str, Any]
) -> dict[str, Any]:
    """Return everything as JSON-able data."""
    return {
        "settings": sweep.settings(),
        "machine": dict(machine),
        "alike": likeness(sweep),
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


def format_figure(figure: Figure, form: str = "{:.2f}", factor: float = 1.0) -> str:
    """Write a figure with its interval.

    Examples
    --------
    >>> format_figure(Figure(1.5, 1.25, 1.75), "{:.2f}x")
    '1.50x [1.25, 1.75]'
    >>> format_figure(Figure(None))
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


def overview(summaries: Sequence[Summary]) -> Table:
    """Return the one table that says what was found."""
    return _table(_OVERVIEW, summaries, summaries)


def tables(summaries: Sequence[Summary]) -> dict[str, Table]:
    """Return the tables of a report by title; one about time only if time was measured."""
    drafting = [s for s in summaries if not s.variant.plain]
    found = {
        "Acceptance": _table(_ACCEPTANCE, drafting, summaries),
        "Acceptance by place": _table(_PLACES, drafting, summaries),
    }
    if any(s.num_timings for s in summaries):
        found["Time"] = _table(_TIME, summaries, summaries)
        found["Latency"] = _table(_LATENCY, summaries, summaries)
    found["Tokens"] = _table(_TOKENS, drafting, summaries)
    found["Quality"] = _table(_QUALITY, summaries, summaries)
    found["Likelihood"] = _table(_LIKELIHOOD, summaries, summaries)
    return found


def _table(columns: Mapping[str, Callable[[Summary], str]], chosen: Sequence[Summary], of: Sequence[Summary]) -> Table:
    """Return a table of the chosen summaries; what is alike in all of them has no column."""
    several = {
        "target": len({s.variant.target for s in of}) > 1,
        "T": len({s.variant.temperature for s in of}) > 1,
        "rule": len({s.variant.verify for s in of if not s.variant.plain}) > 1,
        "text": len({s.domain for s in of}) > 1,
    }
    heads: dict[str, Callable[[Summary], str]] = {
        "target": lambda s: s.variant.target,
        "T": lambda s: f"{s.variant.temperature:g}",
        "draft": lambda s: label(s.variant),
        "rule": lambda s: "" if s.variant.plain else s.variant.verify,
        "γ": lambda s: "" if s.variant.plain else str(s.variant.gamma),
        "text": lambda s: s.domain or "all",
    }
    kept = {name: get for name, get in heads.items() if several.get(name, True)} | dict(columns)
    return tuple(kept), [tuple(get(s) for get in kept.values()) for s in chosen]


def prompt_table(records: Sequence[Record]) -> Table:
    """Return a row per prompt and way to decode."""
    plain = {(r.target, r.temperature, r.prompt_id): r for r in records if r.draft is None}
    rows: list[tuple[str, ...]] = []
    for r in (r for r in records if r.draft is not None):
        base = plain[r.target, r.temperature, r.prompt_id]
        gain = "–"
        if r.decode_s and base.decode_s and r.num_steps:
            each = [decode_seconds(one) / one.num_decode_tokens for one in (base, r)]
            gain = f"{each[0] / each[1]:.2f}x"
        alpha = "–" if not r.num_evaluated_tokens else f"{100 * r.num_accepted_tokens / r.num_evaluated_tokens:.0f} %"
        tau = f"{r.num_decode_tokens / r.num_steps:.2f}" if r.num_steps else "–"
        ways = r.prompt_id, label(r.variant), str(r.gamma), f"{r.temperature:g}"
        rows.append((*ways, tau, alpha, gain, "yes" if r.same_tokens else "no"))
    return ("prompt", "draft", "γ", "T", "τ", "α", "speedup", "same as plain"), rows


def _positions(summary: Summary) -> str:
    return " ".join("–" if a.value is None else f"{a.value:.2f}" for a in summary.acceptance_by_position[:10])


def _milliseconds(values: Mapping[str, float] | None) -> str:
    return (
        "–"
        if values is None
        else " / ".join(f"{ms:.{1 if ms < 10 else 0}f}" for ms in (1e3 * value for value in values.values()))
    )


def _speedup(summary: Summary) -> str:
    return "1 (baseline)" if summary.variant.plain else format_figure(summary.speedup, "{:.2f}x")


def _bare(figure: Figure, form: str, factor: float = 1.0) -> str:
    return format_figure(Figure(figure.value), form, factor)


def _same(summary: Summary) -> str:
    if summary.variant.plain:
        return "–"
    return f"{round((summary.identical.value or 0.0) * summary.num_prompts)} of {summary.num_prompts}"


_OVERVIEW = {
    "τ": lambda s: _bare(s.mean_acceptance_length, "{:.2f}"),
    "α": lambda s: _bare(s.alpha, "{:.1f} %", 100),
    "ms/token": lambda s: _bare(s.s_per_token, "{:.2f}", 1e3),
    "speedup": _speedup,
    "same": _same,
}
_ACCEPTANCE = {
    "τ": lambda s: format_figure(s.mean_acceptance_length),
    "accepted/drafted": lambda s: format_figure(s.draft_acceptance_rate, "{:.1f} %", 100),
    "α": lambda s: format_figure(s.alpha, "{:.1f} %", 100),
}
_PLACES = {"α by place in the draft": _positions}
_TIME = {
    "ms/token": lambda s: format_figure(s.s_per_token, "{:.2f}", 1e3),
    "speedup": _speedup,
    "with prefill": lambda s: "1 (baseline)" if s.variant.plain else format_figure(s.total_speedup, "{:.2f}x"),
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


_QUALITY = {
    "same tokens as plain": lambda s: _same(s) + (", promised" if s.identical_promised and not s.variant.plain else ""),
    "right answers": lambda s: format_figure(s.accuracy, "{:.0f} %", 100),
    "guarantee": lambda s: s.guarantee,
}
_LIKELIHOOD = {
    "log-lik./token": lambda s: format_figure(s.logprob, "{:.3f}"),
    "minus plain's": lambda s: "–" if s.variant.plain else format_figure(s.logprob_difference, "{:+.3f}"),
}

OVERVIEW_NOTE = (
    "τ: tokens per target pass, both after the prefill, which gives the first token; α: accepted / judged; "
    "speedup: plain seconds / this one's, of the steps, with its interval; same: prompts whose tokens are those of "
    "plain decoding."
)
NOTES = {
    "Acceptance": "τ: tokens per target pass, both after the prefill. α: accepted / judged; what lies behind a "
    "rejection was not judged.",
    "Acceptance by place": "Accepted / judged at the first place, the second, and so on.",
    "Time": "Of the steps, plain / this; with prefill: of the whole run.",
    "Latency": "Milliseconds, P50 / P90 / P99 over the timed runs; between bursts: over their steps.",
    "Tokens": "Steps: target passes after the prefill, which gives each first token. Rejected: drafted and not "
    "accepted. Recovered and bonus: drawn from the target's side.",
    "Quality": "Promised: the guarantee says that all tokens are those of plain decoding.",
    "Likelihood": "The target's own, per token of what was written; the difference is paired by prompt.",
}


def to_markdown(sweep: Sweep, summaries: Sequence[Summary], machine: Mapping[str, Any]) -> str:
    """Return a page with every table."""
    parts = [f"# {' and '.join(sweep.targets)}, like for like", likeness(sweep), _machine(machine)]
    for title, (heads, rows) in ({"Overview": overview(summaries)} | tables(summaries)).items():
        lines = [heads, ["---"] * len(heads), *rows]
        table = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
        parts += [f"## {title}", NOTES.get(title, OVERVIEW_NOTE), table]
    return "\n\n".join([*parts, INTERVALS, *remarks(summaries)]) + "\n"


def remarks(summaries: Sequence[Summary]) -> list[str]:
    """Return a line for each way to decode whose draft is of no use, and one on those whose timings are doubtful."""
    broken = [
        f"{label(summary.variant)}: {warning}"
        for summary in summaries
        if not summary.domain and not summary.variant.plain
        and (warning := Watch(summary.counts["evaluated"], summary.counts["accepted"]).warning) is not None
    ]  # fmt: skip
    found = [
        f"{label(summary.variant)}{f', {summary.domain}' if summary.domain else ''}: {', '.join(summary.doubts)}"
        for summary in summaries
        if summary.doubts
    ]
    return broken + ([sentence(found)] if found else [])


def _machine(machine: Mapping[str, Any]) -> str:
    return "Machine: " + ", ".join(f"{name} {value}" for name, value in machine.items()) + "."
