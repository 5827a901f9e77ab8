"""What an experiment is: a claim in our words, a measurement, a rule that judges its figures, and a plot."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from minispec.errors import OptionError, quote, suggest
from minispec.lab.ledger.verdicts import Finding, Interval
from minispec.lab.viz.plots.claims import Chart

Kind = Literal["computed", "counted", "timed", "trained"]
"""computed: formulas and simulation. counted: tokens of real runs; the same on any machine. timed: seconds of this
machine, to be run alone on it. trained: trains small drafts first; needs torch and packed text."""

Figures = Mapping[str, Any]

NAMES = (
    "tau",
    "worksheet",
    "alpha-threshold",
    "half-accepted",
    "wrong-half-the-time",
    "six-tenths-five",
    "maximum",
    "three-to-five",
    "identical-output",
    "sampling-rules",
    "wrong-resampling",
    "proportional-acceptance",
    "modified-attention",
    "model-modification",
    "parallel-drafts",
    "several-candidates",
    "tree-judging",
    "hidden-states",
    "one-pass-drafts",
    "trees-pay",
    "trimmed-head",
    "streaming",
    "retraction",
    "typical-acceptance",
    "domain-acceptance",
    "creative-text",
    "dictated-tokens",
    "long-context",
    "domain-fine-tuning",
    "data-mix",
    "same-family",
    "acceptance-loss",
    "operations-per-byte",
    "memory-bandwidth",
    "one-token-of-work",
    "verification-cost",
    "two-to-three-times",
    "earned-its-keep",
    "largest-models",
    "size-ratio",
    "draft-sizes",
    "draft-latency",
    "batch-size",
    "flat-acceptance",
    "row-budget",
    "pure-upside",
    "bulk-work",
    "short-responses",
    "first-token",
    "tail-latency",
    "fallback",
    "never-slower",
    "two-models-memory",
    "quantised-pair",
    "quantisation-needs",
    "fusion-equivalence",
    "four-techniques",
    "overlap",
    "adaptive-length",
    "seventy-billion",
    "production-gains",
)
"""In the order of the ledger; each is a module of :mod:`minispec.lab.ledger.claims` with underscores for hyphens."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured; recorded with the result.

    Attributes
    ----------
    prompts : int
        Per domain of experiments that count, at most a hundred come with minispec.
    seeds : int
        Of each of them where tokens are drawn; greedy texts need one.
    timed : int
        Prompts per domain, or groups of them, of experiments that measure time.
    tokens : int
        Generated per prompt.
    repeats : int
        Rounds of whatever is timed by itself (forwards).
    text_rounds : int
        Rounds in which texts are timed; what an interval is made of are the texts.
    rounds : int
        Simulated steps, where there is nothing but a formula to check.
    long : int
        Tokens of a long text.
    """

    prompts: int = 100
    seeds: int = 3
    timed: int = 10
    tokens: int = 64
    repeats: int = 9
    text_rounds: int = 2
    rounds: int = 1_000_000
    long: int = 896


FULL = Scale()
TINY = Scale(prompts=2, seeds=2, timed=2, tokens=8, repeats=2, text_rounds=1, rounds=2_000, long=48)
"""For tests: everything runs, nothing is worth reading."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a measurement is given.

    Attributes
    ----------
    scale : Scale
    packed, work : Path or None
        For experiments that train: packed text, and a folder for drafts.
    """

    scale: Scale = FULL
    packed: Path | None = None
    work: Path = Path(".work/experiments")


class Conclusion(NamedTuple):
    """What the figures say, in sentences (Markdown).

    Attributes
    ----------
    formula : str
        What the theory answers, with its numbers.
    measured : str
        What was measured; may end in a table.
    verdict : Finding
    judged : sequence of intervals
        Those that the verdict reads; their widths say how fine a difference the texts can show.
    """

    formula: str
    measured: str
    verdict: Finding
    judged: Sequence[Sequence[float]] = ()


@dataclass(frozen=True)
class About:
    """What is claimed by whom, and how it is put to the test.

    Attributes
    ----------
    title : str
        A few words.
    claim : str
        What is claimed, in our words.
    sources : tuple of str
        Who claims it, by their names in :data:`SOURCES`. None where a paper does: ``literature`` names that.
    kind : {"computed", "counted", "timed", "trained"}
    instrument : str
        With what it is measured, and why that is honest.
    literature : str
        Paper, year and what it reports on the matter; "None known." where we know of none.
    thresholds : mapping of str to number, text or lists of them
        What the rule of the verdict compares figures with.
    """

    title: str
    claim: str
    sources: tuple[str, ...]
    kind: Kind
    instrument: str
    literature: str
    thresholds: Mapping[str, Any]


@dataclass(frozen=True)
class Experiment:
    """One claim put to the test: what its module holds.

    Attributes
    ----------
    name : str
    about : About
    measure : callable
        Maps a setting to figures: numbers, texts, lists and dicts of them.
    conclude : callable
        Maps figures to a conclusion. The rule of the verdict is stated in its docstring.
    chart : callable
        Maps figures to what is drawn.
    """

    name: str
    about: About
    measure: Callable[[Setting], Figures]
    conclude: Callable[[Figures], Conclusion]
    chart: Callable[[Figures], Chart]

    @property
    def rule(self) -> str:
        """How figures become a verdict, in a sentence."""
        return " ".join((self.conclude.__doc__ or "").split())


SOURCES = {
    "pan-streaming": (
        "Tian Pan, “Speculative Decoding Is a Streaming Protocol Decision, Not an Inference Optimization”, 2026"
    ),
    "pan-practice": "Tian Pan, “Speculative Decoding in Practice: The Free Lunch That Isn't Quite Free”, undated",
    "day-05": "“Day 05: Speculative Decoding”, a course page without author or date",
    "nikolatesla": "nikolatesla, “Speculative Decoding: The Inference Trick That Quietly Fixed LLM Latency”, 2026",
    "speculators": "The vLLM project's speculators, “Throughput vs. Interactivity”, a tutorial, 2026",
    "kumkar": "Prasad Kumkar, “Speculative Decoding”, glossary of Inference Systems, undated",
}
"""Who makes the claims: articles about speculative decoding, by author, title and year."""


def get_experiment(name: str) -> Experiment:
    """Return an experiment by name.

    Raises
    ------
    OptionError
        If there is none, naming a close one.
    """
    if name not in NAMES:
        hint = suggest(name, NAMES, "`minispec experiment list` shows them")
        raise OptionError(f"there is no experiment {quote(name)}. {hint}")
    module = importlib.import_module(f"minispec.lab.ledger.claims.{name.replace('-', '_')}")
    return Experiment(name, module.ABOUT, module.measure, module.conclude, module.chart)


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table, to follow a sentence; a cell that is (value, low, high) is written as an interval."""
    lines = [map(_show, row) for row in (header, ["---"] * len(header), *rows)]
    return "\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _show(cell: object) -> str:
    return str(Interval(*cell) if isinstance(cell, list | tuple) else cell)
