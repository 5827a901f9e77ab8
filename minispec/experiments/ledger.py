"""The ledger: results as JSON files, one per experiment, and the page that is made of them and of nothing else."""

from __future__ import annotations

import importlib.metadata
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from minispec import __version__
from minispec.analysis.measure.run import check_jobs, sweep_library
from minispec.analysis.roofline.machine import describe_cpu
from minispec.errors import InputError, explain
from minispec.experiments.circumstances import describe_state, find_state
from minispec.experiments.framework import FULL, NAMES, Conclusion, Experiment, Kind, Setting, get_experiment
from minispec.experiments.seal import check, register, rule_of, seal
from minispec.experiments.verdicts import MEANINGS, Finding
from minispec.files import make_folder, write_text
from minispec.viz.plots import style
from minispec.viz.plots.claims import claim_figure

Result = dict[str, Any]
"""What a file holds: the experiment's texts, its figures, its conclusion, and where and when it was measured."""

_LIBRARIES = ("numpy", "numba", "torch")
_DIGITS = 5  # significant: more than any figure here deserves
_KIND: dict[Kind, str] = {
    "computed": "computed",
    "counted": "counted (tokens, not seconds)",
    "timed": "timed",
    "trained": "counted, with drafts trained for it",
}


def measure(experiment: Experiment, setting: Setting, folder: Path) -> Result:
    """Write an experiment's rule into a folder, run it, and judge it by that rule."""
    rule = register(experiment, folder, _now())
    return _judge_seen(experiment, rule, _observe(experiment, setting))


def measure_all(
    experiments: Sequence[Experiment], setting: Setting, folder: Path, jobs: int = 1
) -> Iterator[tuple[Experiment, Result]]:
    """Yield each result as soon as it is there: in order, or in any order if several run at a time.

    Parameters
    ----------
    experiments : sequence of Experiment
    setting : Setting
    folder : Path
        Gets the rules, before anything is measured.
    jobs : int
        Experiments at a time; -1 is one per core. Where they run is joblib's choice, see
        :func:`minispec.analysis.measure.run.run_units`.

    Raises
    ------
    OptionError
        If several are to run at a time and one of them measures time.
    MissingDependencyError
        If joblib is not installed.
    """
    check_experiment_jobs(experiments, jobs)
    if jobs == 1:
        yield from ((one, measure(one, setting, folder)) for one in experiments)
        return
    rules = {one.name: register(one, folder, _now()) for one in experiments}
    parallel = sweep_library("joblib").Parallel(n_jobs=jobs, return_as="generator_unordered")
    task = sweep_library("joblib").delayed(_observe)
    for seen in parallel(task(one, setting) for one in experiments):
        experiment = get_experiment(seen["name"])
        yield experiment, _judge_seen(experiment, rules[experiment.name], seen)


def check_experiment_jobs(experiments: Sequence[Experiment], jobs: int) -> None:
    """Refuse jobs that these experiments cannot have; see :func:`minispec.analysis.measure.run.check_jobs`."""
    is_timed = any(one.kind == "timed" for one in experiments)
    check_jobs(jobs, is_timed=is_timed, way_out="Leave --jobs and --on out, or run the others with --all --untimed")


def _observe(experiment: Experiment, setting: Setting) -> Result:
    """Run an experiment; return its figures, and where and when they were measured."""
    state = find_state() if experiment.kind == "timed" else {}
    figures = round_figures(experiment.measure(setting))
    where = machine(experiment.kind) | state
    place = {"date": _now(), "machine": where, "scale": asdict(setting.scale)}
    return {"name": experiment.name, **place, "figures": figures}


def _judge_seen(experiment: Experiment, rule: str, seen: Result) -> Result:
    result = describe(experiment) | seen | {"rule": rule} | judge(experiment, seen["figures"])
    return result | {"seal": seal(result)}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def describe(experiment: Experiment) -> dict[str, Any]:
    """Return what an experiment says before it is run."""
    return {
        "name": experiment.name,
        "title": experiment.title,
        "claim": experiment.claim,
        "seeds": list(experiment.seed_files),
        "kind": experiment.kind,
        "instrument": experiment.instrument,
        "literature": experiment.literature,
    }


def judge_again(result: Result) -> Result:
    """Return a result with today's texts and rules on the figures it has: nothing is measured.

    Under another rule than that of its run it loses the mark of a rule that was there before.

    Raises
    ------
    InputError
        If its figures were edited.
    """
    experiment = get_experiment(result["name"])
    if result.get("seal") != seal(result):
        check(result, experiment, Path())
    rule = result.get("rule") if result.get("rule") == rule_of(experiment)["hash"] else None
    again = result | describe(experiment) | {"rule": rule} | judge(experiment, result["figures"])
    return again | {"seal": seal(again)}


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


def save(result: Result, folder: Path, *, plot: bool = True) -> None:
    """Write a result and its plot; each file whole or not at all.

    Raises
    ------
    OutputError
        If the folder cannot be written.
    """
    path = path_of(result["name"], folder)
    make_folder(folder)
    if plot:
        chart = get_experiment(result["name"]).chart(result["figures"])
        style.save(claim_figure(chart), folder / f"{result['name']}.svg")
    write_text(path, json.dumps(result, indent=1, ensure_ascii=False) + "\n")


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
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(f"{path} is no result of {name} ({explain(error)}). Delete it and run it again") from None
    return dict(result)


def load_all(folder: Path) -> list[Result]:
    """Read all results there are, in the order of the ledger."""
    return [result for name in NAMES if (result := load(folder, name)) is not None]


def load_checked(folder: Path) -> list[Result]:
    """Read the whole ledger, as its page needs it.

    Raises
    ------
    InputError
        If an entry is missing, was edited, does not follow from its figures, or was judged by a rule that was not there
        before its run.
    """
    results = []
    for name in NAMES:
        result, experiment = load(folder, name), get_experiment(name)
        if result is None:
            raise InputError(f"{path_of(name, folder)} is missing. Measure: experiment run {name}")
        check(result, experiment, folder)
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
    """
    listed = list(results)
    rows = [f"| [{r['title']}](#{r['name']}) | {r['verdict']} | {_KIND[r['kind']]} |" for r in listed]
    words = [f"- **{word}**: {meaning}." for word, meaning in MEANINGS.items()]
    return "\n".join(
        [
            "# The claims ledger",
            "",
            "What is said about speculative decoding, put to the test. The claims are restated in our words from the "
            "documents named with each; this page is written by `minispec experiment report` from the JSON files in "
            f"`docs/{plots}/`, which hold every figure and are made by `minispec experiment run`. The rule of each "
            "verdict, with its thresholds, is written into `rules.json` before the run. An interval behind a figure is "
            "a 95 % confidence interval with whole texts as clusters, for all figures of a verdict together; of a "
            "forward it is that of the median round, of training seeds that of their mean.",
            "",
            f"Entries that count decode {FULL.prompts} held-out prompts of each kind, {FULL.seeds} seeds each where "
            "tokens are drawn, and a prompt with all its runs is one cluster: more seeds make its own mean sharper, "
            "only more prompts stand for other texts. Where intervals decide, the entry says how fine a difference "
            f"they can show. Texts are timed on {FULL.timed} prompts of each kind. `python -m minispec.training "
            "prompts` drew them from what the recipe holds out (`minispec/experiments/prompts.jsonl`). Entries marked "
            "*to be renewed* have fewer prompts and an earlier pair; some have intervals for each figure by itself, of "
            "times over rounds only. In entries of before 26 November 2026 the first token is a step with a draft; "
            "since then the prompt's last row gives it, and the steps begin behind it. `minispec experiment coverage` "
            "says which entry judges which sentence of the documents.",
            "",
            *words,
            "",
            "| claim | verdict | how |",
            "|---|---|---|",
            *rows,
            *(line for result in listed for line in _entry(result, plots)),
            "",
        ]
    )


PAIR_SINCE = "2026-11-24T04:54:00Z"
"""Since when the bundled models, their head and the held-out prompts are what they are."""
RENEW = (
    "*To be renewed:* these figures were measured before their rule was written down, by earlier instruments and, "
    "where the bundled pair is in them, with the models and prompts before these; `minispec experiment run` with its "
    "name measures them again."
)
RENEW_PAIR = (
    "*To be renewed* where the bundled pair is in them: these figures are those of the models and prompts before "
    "these; `minispec experiment run` with its name measures them again."
)


def _age(result: Result) -> list[str]:
    """Say what in an entry is older than its rule or than the bundled models."""
    if not result["rule"]:
        return ["", RENEW]
    return ["", RENEW_PAIR] if result["kind"] != "computed" and result["date"] < PAIR_SINCE else []


def _power(result: Result) -> list[str]:
    """Say how fine a difference the texts of an entry can show."""
    if not result["half_widths"]:
        return []
    low, high = (f"±{value:.2g}" for value in result["half_widths"])
    deciding = (
        f"the interval that decides is {low}" if low == high else f"the intervals that decide are {low} to {high}"
    )
    scale, texts = result["scale"], ""
    if "seeds" in scale:  # else it is from before each experiment decoded as many prompts
        texts = f"{scale['prompts']} prompts of a kind, {scale['seeds']} seeds each where tokens are drawn: "
    sentence = f"{texts}{deciding}; a smaller distance from a threshold is not seen."
    return ["", f"**How fine.** {sentence[0].upper()}{sentence[1:]}"]


def _entry(result: Result, plots: str) -> list[str]:
    facts = result["machine"]
    versions = ", ".join(f"{name} {facts[name]}" for name in ("python", "minispec", *_LIBRARIES) if name in facts)
    return [
        "",
        f'<a id="{result["name"]}"></a>',
        "",
        f"## {result['title']}",
        "",
        f"**The claim.** {result['claim']} ({', '.join(f'`{seed}`' for seed in result['seeds']) or 'a paper'})",
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
        *_age(result),
        "",
        f"![{result['title']}]({plots}/{result['name']}.svg)",
        "",
        f"<sub>{result['name']} · {_KIND[result['kind']]} · {result['date']} · {facts['cpu']}, {facts['threads']} of "
        f"{facts['cores']} cores, {facts['system']} · {versions}{describe_state(facts)}</sub>",
    ]
