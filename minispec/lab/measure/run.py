"""Running a sweep: each prompt decoded in every way, in turns; one unit after the other, or on many workers."""

from __future__ import annotations

import functools
import hashlib
import importlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from minispec.engine.backends.formats import AUTO
from minispec.engine.drafters import load_draft
from minispec.engine.drafters.spec import MODEL, parse_draft
from minispec.engine.generation import Generation, Stream, stream
from minispec.engine.generation.prepare import encode_prompt
from minispec.engine.loading import load_model
from minispec.engine.model import GPT2
from minispec.engine.model.language_model import LanguageModel
from minispec.errors import OptionError, PromptError, missing, quote
from minispec.lab.measure.grid import Sweep, Unit, Variant
from minispec.lab.measure.record import Record, record
from minispec.lab.timer import interleave

Load = Callable[[str, str], LanguageModel]
"""Gives the model of a name and of the role "target" or "draft"."""


def run_unit(
    sweep: Sweep, unit: Unit, load: Load | None = None, clock: Callable[[], float] = time.perf_counter
) -> list[Record]:
    """Decode one prompt in every way and return a record for each.

    Parameters
    ----------
    sweep : Sweep
    unit : Unit
        One of its units.
    load : callable, optional
        By default models are loaded once per process.
    clock : callable
        Seconds.
    """
    load = load or functools.partial(load_named, **sweep.loading)

    def decode(variant: Variant, *, logprobs: bool = False) -> Generation:
        return _start(sweep, variant, unit, load, logprobs=logprobs, clock=clock).run()

    quality = {variant: decode(variant, logprobs=True) for variant in unit.variants}
    timed: dict[Variant, list[Generation]] = {variant: [] for variant in unit.variants}

    def turn(variant: Variant) -> float:
        timed[variant].append(decode(variant))
        return timed[variant][-1].metrics.decode_s

    interleave({str(i): functools.partial(turn, each) for i, each in enumerate(unit.variants)}, sweep.repeats)
    plain = quality[unit.variants[0]]
    return [record(each, unit.prompt, quality[each], plain, timed[each]) for each in unit.variants]


@functools.cache
def load_named(
    name: str,
    role: str,
    backend: str = "numba",
    dtype: str = "float32",
    draft_dtype: str | None = None,
    kv_dtype: str = AUTO,
) -> GPT2:
    """Load a model, once per process."""
    model = load_model(name, backend, draft_dtype or dtype if role == "draft" else dtype, kv_dtype)
    model.backend.warm_up(model.dtype, model.kv_dtype)
    return model


def fingerprints(sweep: Sweep, load: Load | None = None) -> dict[str, str]:
    """Return for each model what tells it from another of the same name: a hash of logits it computes here."""
    load = load or functools.partial(load_named, **sweep.loading)
    specs = [parse_draft(name) for name in sweep.drafts]
    names = [(name, "target") for name in sweep.targets]
    names += [(spec.name, "draft") for spec in specs if spec.kind == MODEL]
    found = {}
    for name, role in names:
        model = load(name, role)
        logits = model.forward([0], model.new_cache(capacity=1), 1)
        found[f"{role} {name}"] = hashlib.sha256(logits.tobytes()).hexdigest()
    return found


def check_units(sweep: Sweep, load: Load | None = None) -> None:
    """Refuse what the engine would refuse later, before anything is measured or written: prompts, options, drafts.

    And a length that no context has room for: runs that end early are not of one length.

    Raises
    ------
    InputError
        With the prompt's id, if it is the prompt's fault.
    """
    load = load or functools.partial(load_named, **sweep.loading)
    units = list(sweep.units())
    least_room, fullest = min((_find_room(unit, load), unit.prompt.id) for unit in units)
    if sweep.max_tokens > least_room:
        raise OptionError(
            f"max-tokens is {sweep.max_tokens}; behind prompt {quote(fullest)} the context has room for {least_room}, "
            f"and all runs have one length. Try --max-tokens {least_room}"
        )
    for unit in units:
        _start(sweep, unit.variants[0], unit, load)
    for variant in dict.fromkeys(variant for unit in units for variant in unit.variants):
        _start(sweep, variant, units[0], load)


def _find_room(unit: Unit, load: Load) -> int:
    """Return how many tokens fit behind a prompt."""
    target = load(unit.variants[0].target, "target")
    try:
        return target.n_positions - len(encode_prompt(unit.prompt.text, target))
    except PromptError as error:
        raise PromptError(f"prompt {quote(unit.prompt.id)}: {error}") from None


def _start(sweep: Sweep, variant: Variant, unit: Unit, load: Load, **more: Any) -> Stream:
    """Start decoding a prompt in one way; nothing is computed yet."""
    target = load(variant.target, "target")
    draft = None if variant.draft is None else load_draft(variant.draft, lambda name: load(name, "draft"))
    options = sweep.engine_options(variant, unit.seed) | more
    return stream(unit.prompt.text, target=target, draft=draft, **sweep.loading, **options)


def run_units(sweep: Sweep, units: Sequence[Unit], jobs: int = 1) -> Iterator[list[Record]]:
    """Yield the records of each unit as it is finished, in any order.

    Parameters
    ----------
    sweep : Sweep
    units : sequence of Unit
    jobs : int
        Units at a time; -1 is one per core. More than one needs joblib and a sweep without timing: runs that
        share a machine slow each other down. Where they run is joblib's choice: worker processes here, or whatever
        ``joblib.parallel_config`` names, a Dask or Ray cluster for one.

    Raises
    ------
    OptionError
        If time is to be measured by several jobs.
    MissingDependencyError
        If joblib is not installed.
    """
    check_sweep_jobs(sweep, jobs)
    if jobs == 1:
        yield from (run_unit(sweep, unit) for unit in units)
        return
    joblib = sweep_library("joblib")
    parallel = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")
    yield from parallel(joblib.delayed(run_unit)(sweep, unit) for unit in units)


def check_sweep_jobs(sweep: Sweep, jobs: int) -> None:
    """Refuse jobs that a sweep cannot have; see :func:`check_jobs`."""
    check_jobs(jobs, is_timed=bool(sweep.repeats), way_out="Try --no-timing, or leave --jobs out")


def check_jobs(jobs: int, *, is_timed: bool, way_out: str) -> None:
    """Refuse a number of jobs that is none, and several where time is to be measured or joblib is missing.

    Parameters
    ----------
    jobs : int
    is_timed : bool
    way_out : str
        What else can be done than measuring time with several.

    Raises
    ------
    OptionError
    MissingDependencyError
    """
    if jobs == 0 or jobs < -1:
        raise OptionError(f"jobs is {jobs}; it counts what runs at a time, -1 is one per core. Try --jobs 2")
    if jobs != 1 and is_timed:
        raise OptionError(f"{jobs} jobs cannot measure time: they slow each other down. {way_out}")
    if jobs != 1:
        sweep_library("joblib")


def sweep_library(name: str) -> Any:
    """Import a library of the extra ``sweep``.

    Raises
    ------
    MissingDependencyError
        If it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        raise missing(name.partition(".")[0], "several jobs need", "sweep") from None
