"""The ledger: results as JSON files, one per experiment, and the page that is made of them and of nothing else."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import math
import os
import platform
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from minispec import __version__
from minispec.engine.files import make_folder, write_text
from minispec.errors import InputError, explain, quote
from minispec.lab.ledger.framework import (
    FULL,
    NAMES,
    SOURCES,
    Conclusion,
    Experiment,
    Kind,
    Scale,
    Setting,
    get_experiment,
)
from minispec.lab.ledger.verdicts import MEANINGS, Finding
from minispec.lab.measure.sweep import check_jobs, sweep_library
from minispec.lab.roofline.machine import describe_cpu
from minispec.lab.viz.plots.claims import draw_claim

Result = dict[str, Any]
"""What a file holds: the experiment's texts, its figures, its conclusion, and where and when it was measured."""

_LIBRARIES = ("numpy", "numba", "torch")
_DATE = "%Y-%m-%dT%H:%M:%SZ"  # in the order of time, as text
_DIGITS = 5  # significant: more than any figure here deserves
_FIRST = (
    "worksheet",
    "half-accepted",
    "identical-output",
    "verification-cost",
    "batch-size",
)  # what a reader has heard
_STATE = {"kernel": "{}", "mhz": "{} MHz", "load": "load {} before", "commit": "commit {}"}
_KIND: dict[Kind, str] = {
    "computed": "computed",
    "counted": "counted (tokens, not seconds)",
    "timed": "timed",
    "trained": "counted, with drafts trained for it",
}


def measure(experiment: Experiment, setting: Setting) -> Result:
    """Run an experiment, and judge its figures."""
    return _judge_seen(_observe(experiment, setting))


def measure_all(
    experiments: Sequence[Experiment], setting: Setting, jobs: int = 1
) -> Iterator[tuple[Experiment, Result]]:
    """Yield each result as soon as it is there: in order, or in any order if several run at a time.

    Parameters
    ----------
    experiments : sequence of Experiment
    setting : Setting
    jobs : int
        Experiments at a time; -1 is one per core. Where they run is joblib's choice, see
        :func:`minispec.lab.measure.sweep.run_units`.

    Raises
    ------
    OptionError
        If several are to run at a time and one of them measures time.
    MissingDependencyError
        If joblib is not installed.
    """
    check_experiment_jobs(experiments, jobs)
    if jobs == 1:
        yield from ((one, measure(one, setting)) for one in experiments)
        return
    parallel = sweep_library("joblib").Parallel(n_jobs=jobs, return_as="generator_unordered")
    task = sweep_library("joblib").delayed(_observe)
    for seen in parallel(task(one, setting) for one in experiments):
        yield get_experiment(seen["name"]), _judge_seen(seen)


def check_experiment_jobs(experiments: Sequence[Experiment], jobs: int) -> None:
    """Refuse jobs that these experiments cannot have; see :func:`minispec.lab.measure.sweep.check_jobs`."""
    is_timed = any(one.about.kind == "timed" for one in experiments)
    check_jobs(jobs, is_timed=is_timed, way_out="Leave --jobs and --on out, or run the others with --all --untimed")


def _observe(experiment: Experiment, setting: Setting) -> Result:
    """Run an experiment; return its figures, and where and when they were measured."""
    kind = experiment.about.kind
    state = find_state() if kind == "timed" else {}
    figures = round_figures(experiment.measure(setting))
    where = machine(kind) | state
    place = {"date": _now(), "machine": where, "scale": asdict(setting.scale)}
    return {"name": experiment.name, **place, "figures": figures}


def _judge_seen(seen: Result) -> Result:
    experiment = get_experiment(seen["name"])
    return describe(experiment) | seen | judge(experiment, seen["figures"])


def _now() -> str:
    return datetime.now(UTC).strftime(_DATE)


def describe(experiment: Experiment) -> dict[str, Any]:
    """Return what an experiment says before it is run: the claim, how it is tested, and the rule of the verdict."""
    about = asdict(experiment.about) | {"sources": [SOURCES[name] for name in experiment.about.sources]}
    # as JSON reads it back, so that a file can be compared with it
    told: dict[str, Any] = json.loads(json.dumps(about))
    return {"name": experiment.name, **told, "rule": experiment.rule}


def judge_again(result: Result) -> Result:
    """Return a result with today's texts and rules on the figures it has: nothing is measured."""
    experiment = get_experiment(result["name"])
    return result | describe(experiment) | judge(experiment, result["figures"])


def judge(experiment: Experiment, figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return what follows from the figures: a pure function of them."""
    conclusion: Conclusion = experiment.conclude(figures)
    verdict: Finding = conclusion.verdict
    half_widths = [0.5 * (high - low) for _, low, high in conclusion.judged]
    return {
        "formula": conclusion.formula,
        "measured": conclusion.measured,
        "verdict": verdict.word,
        "because": verdict.because,
        "half_widths": round_figures([min(half_widths), max(half_widths)]) if half_widths else None,
    }


def machine(kind: Kind) -> dict[str, Any]:
    """Name the machine and the versions in force."""
    facts = {**describe_cpu(), "minispec": __version__}
    return facts | {"torch": importlib.metadata.version("torch")} if kind == "trained" else facts


def find_state() -> dict[str, Any]:
    """Say what times depend on besides: the code's commit, the kernel, the clock, and how busy the machine is.

    What cannot be told here is left out. "dirty" behind a commit says that the code had been changed since.
    """
    state: dict[str, Any] = {"kernel": f"{platform.system()} {platform.release()}"}
    git = ["git", "-C", str(Path(__file__).parent)]
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        ask = partial(subprocess.run, check=True, capture_output=True, text=True)
        commit = ask([*git, "rev-parse", "--short", "HEAD"]).stdout.strip()
        changed = ask([*git, "status", "--porcelain", "--untracked-files=no", "--", ":/minispec"]).stdout.strip()
        state["commit"] = f"{commit} dirty" if changed else commit
    with contextlib.suppress(OSError, AttributeError):  # not on Windows
        state["load"] = round(os.getloadavg()[0], 2)
    with contextlib.suppress(OSError, StopIteration):  # not on Linux
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        state["mhz"] = round(float(next(line for line in lines if line.startswith("cpu MHz")).partition(":")[2]))
    return state


def describe_state(facts: Mapping[str, Any]) -> str:
    """Return what :func:`find_state` told, for the last line of an entry; nothing of entries that measure no time.

    Examples
    --------
    >>> describe_state({"cpu": "Zen 3", "mhz": 2445, "load": 0.1})
    ' · 2445 MHz, load 0.1 before'
    """
    told = [form.format(facts[key]) for key, form in _STATE.items() if key in facts]
    return f" · {', '.join(told)}" if told else ""


def round_figures(value: Any) -> Any:
    """Return JSON-able data with floats of five significant digits."""
    if isinstance(value, Mapping):
        return {str(key): round_figures(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [round_figures(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | bool | int) else round_figures(float(value))


def path_of(name: str, folder: Path) -> Path:
    """Where an experiment's result is kept."""
    return folder / f"{name}.json"


def save(result: Result, folder: Path) -> None:
    """Write a result and its picture; each file whole or not at all.

    Raises
    ------
    OutputError
        If the folder cannot be written.
    """
    make_folder(folder)
    write_text(folder / f"{result['name']}.svg", draw(result))
    write_text(path_of(result["name"], folder), json.dumps(result, indent=1, ensure_ascii=False) + "\n")


def draw(result: Result) -> str:
    """Return the picture of a result, an SVG: a pure function of it, with the claim and its verdict at the top."""
    chart = get_experiment(result["name"]).chart(result["figures"])
    return draw_claim(chart, f"“{result['title']}”: {result['verdict']}")


def load(folder: Path, name: str) -> Result | None:
    """Read a result, None if there is none.

    Raises
    ------
    InputError
        If the file is there and no result of that experiment.
    """
    path = path_of(name, folder)
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
        if result["name"] != name or result["verdict"] not in MEANINGS:
            raise ValueError(f"it is named {result['name']!r}, its verdict {result['verdict']!r}")
        datetime.strptime(result["date"], _DATE)
        for key in ("figures", "machine"):
            if not isinstance(result[key], dict):
                raise ValueError(f"its {key} is {quote(result[key])}")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError(f"{path} is no result of {name} ({explain(error)}). Delete it and run it again") from None
    return dict(result)


@contextlib.contextmanager
def refuse_damaged(result: Result) -> Iterator[None]:
    """Turn what a kept result lacks, or has in a form that no experiment writes, into one line.

    Raises
    ------
    InputError
        If a rule, a chart or the page cannot use the result.
    """
    try:
        yield
    except InputError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        name, told = result["name"], f"{type(error).__name__}: {explain(error)}"
        raise InputError(f"{name}.json is damaged ({told}). Restore it, or measure: experiment run {name}") from None


def load_all(folder: Path) -> list[Result]:
    """Read all results there are, in the order of the ledger."""
    return [result for name in NAMES if (result := load(folder, name)) is not None]


def compare_scale(result: Result, scale: Scale) -> str:
    """Say in what the scale of a result differs from this one; nothing if it does not."""
    kept, asked = result.get("scale"), asdict(scale)
    if get_experiment(result["name"]).about.kind == "computed":  # without texts: simulated steps are all that it has
        asked = {"rounds": asked["rounds"]}
    if not isinstance(kept, Mapping):
        return "no scale"
    return ", ".join(f"{key} {kept.get(key)}, not {value}" for key, value in asked.items() if kept.get(key) != value)


def load_checked(folder: Path) -> list[Result]:
    """Read the whole ledger, as its page needs it.

    Raises
    ------
    InputError
        If an entry is missing, was not measured in full, or does not follow from its figures and today's rule.
    """
    results = []
    for name in NAMES:
        result, experiment = load(folder, name), get_experiment(name)
        if result is None:
            raise InputError(f"{path_of(name, folder)} is missing. Measure: experiment run {name}")
        if other := compare_scale(result, FULL):
            raise InputError(
                f"{path_of(name, folder)} has another scale ({other}). Measure in full: experiment run {name}"
            )
        with refuse_damaged(result):
            now = describe(experiment) | judge(experiment, result["figures"])
        if {key: result.get(key) for key in now} != now:
            raise InputError(f"{name}.json says something else than its figures. Judge them: experiment judge")
        results.append(result)
    return results


def report(results: Iterable[Result], plots: str = "claims") -> str:
    """Return the page: a pure function of the results.

    Parameters
    ----------
    results : iterable of Result
    plots : str
        Folder of the plots, as the page sees it.

    Raises
    ------
    InputError
        If a result lacks what the page says of it.
    """
    listed = list(results)
    entries: list[str] = []
    for result in listed:
        with refuse_damaged(result):
            entries += _entry(result, plots)
    rows = [f"| [{r['title']}](#{r['name']}) | {r['verdict']} | {_KIND[r['kind']]} |" for r in listed]
    words = [f"- **{word}**: {meaning}." for word, meaning in MEANINGS.items()]
    return "\n".join(
        [
            *_opening(listed, plots),
            "",
            *words,
            "",
            "| claim | verdict | how |",
            "|---|---|---|",
            *rows,
            *entries,
            "",
        ]
    )


def _opening(results: list[Result], plots: str) -> list[str]:
    """Say what the page is, for whom, what to read first and how to read an entry."""
    count = Counter(result["verdict"] for result in results)
    loose = count["depends"] + count["at best depends"]
    first = [f"- [{r['title']}](#{r['name']}): **{r['verdict']}**." for r in results if r["name"] in _FIRST]
    odd = ", ".join(r["name"] for r in results if compare_scale(r, FULL))
    return [
        f"# {len(results)} claims about speculative decoding, tested",
        "",
        "Evidence for readers who have heard that speculative decoding is free, that it doubles the speed, or that an "
        "acceptance rate of 0.6 is enough. Afterwards you know which of these claims you may repeat.",
        "",
        f"**{count['false']} claims are false. {loose} depend on something that they leave out. {count['holds']} hold, "
        f"and {count['holds here']} more hold with our models on our machines.** The rest is undecided or cannot be "
        "tested here. Each claim is restated in our words, with its sources, and gets a formula, a test and a verdict.",
        "",
        *(["Start with these:", "", *first, ""] if first else []),
        "**How to read an entry.** The plot comes last; look at it first. *Found* has the figures, *Verdict* the rule "
        "that turned them into a word. An interval is a 95 % confidence interval, for all figures of a verdict "
        "together. Entries with intervals also say how small a difference they can show.",
        "",
        f"**How it was tested.** Entries that count tokens decode {FULL.prompts} held-out prompts of each kind, "
        f"{FULL.seeds} seeds each where tokens are drawn. A prompt with all its runs is one cluster: more seeds make "
        "its own mean sharper, only more prompts stand for other texts. Entries that measure time use "
        f"{FULL.timed} prompts of each kind. In entries of before 26 November 2026 the first token is a step with a "
        "draft; in later ones the prompt's last row gives it.",
        "",
        *([f"**Not so tested**, but at another scale: {odd}. Figures of `--quick` mean nothing.", ""] if odd else []),
        f"`minispec experiment run` repeats a test. `docs/{plots}/` has every figure and threshold as JSON; `minispec "
        "experiment report` writes this page from it. [The glossary](glossary.md) defines the terms.",
        "",
        "**The verdicts:**",
    ]


def _power(result: Result) -> list[str]:
    """Say how fine a difference the texts of an entry can show."""
    if not result["half_widths"]:
        return []
    low, high = (f"±{value:.2g}" for value in result["half_widths"])
    deciding = (
        f"the interval that decides is {low}" if low == high else f"the intervals that decide are {low} to {high}"
    )
    scale = result["scale"]
    texts = f"{scale['prompts']} prompts of a kind, {scale['seeds']} seeds each where tokens are drawn"
    return ["", f"**How fine.** {texts}: {deciding}; a smaller distance from a threshold is not seen."]


def _entry(result: Result, plots: str) -> list[str]:
    facts = result["machine"]
    versions = ", ".join(f"{name} {facts[name]}" for name in ("python", "minispec", *_LIBRARIES) if name in facts)
    return [
        "",
        f'<a id="{result["name"]}"></a>',
        "",
        f"## {result['title']}",
        "",
        f"**The claim.** {result['claim']} ({'; '.join(result['sources']) or 'a paper'})",
        "",
        f"**The formula.** {result['formula']}",
        "",
        f"**The test.** {result['instrument']}",
        "",
        f"**Found.** {result['measured']}",
        *_power(result),
        "",
        f"**Verdict: {result['verdict']}.** {result['because']}",
        "",
        f"**In print.** {result['literature']}",
        "",
        f"![{result['title']}]({plots}/{result['name']}.svg)",
        "",
        f"<sub>{result['name']} · {_KIND[result['kind']]} · {result['date']} · {facts['cpu']}, {facts['threads']} of "
        f"{facts['cores']} cores, {facts['system']} · {versions}{describe_state(facts)}</sub>",
    ]
