"""A like-for-like sweep: which prompts, which ways to decode them, in turns; and a journal of what was measured so far.

One unit runs after the other, or on many workers; an interruption costs one unit at most.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import minispec
from minispec.engine.backends.formats import AUTO
from minispec.engine.control.registry import find_trace
from minispec.engine.drafters import load_draft
from minispec.engine.drafters.files import hash_files, model_files, named_files
from minispec.engine.drafters.spec import MODEL, parse_draft
from minispec.engine.files import HeldFile
from minispec.engine.generation import Generation, Stream, stream
from minispec.engine.generation.options import Options
from minispec.engine.generation.prepare import check_together, encode_prompt
from minispec.engine.loading import load_model
from minispec.engine.loading.bundled import DEFAULT_DRAFT, DEFAULT_TARGET
from minispec.engine.model import GPT2
from minispec.engine.model.language_model import LanguageModel
from minispec.errors import OptionError, OutputError, PromptError, explain, missing, quote
from minispec.lab.measure.record import Record, Variant, record
from minispec.lab.prompts import Prompt
from minispec.lab.timer import interleave

FORMAT = 2
"""Of what a sweep writes; another number is another sweep."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What is measured together: one prompt, decoded plainly and in every other way, in turns.

    Attributes
    ----------
    variants : tuple of Variant
        The first is plain; all have its target and temperature.
    prompt : Prompt
    seed : int
        The same for all of them.
    """

    variants: tuple[Variant, ...]
    prompt: Prompt
    seed: int

    @property
    def name(self) -> tuple[str, float, str]:
        """Target, temperature and the prompt's id: unique within a sweep."""
        return self.variants[0].target, self.variants[0].temperature, self.prompt.id


@dataclass(frozen=True)
class Sweep:
    """Every prompt, decoded plainly and with every combination of drafts, gammas and rules.

    All runs of one prompt have the same seed and the same length: the end of the text is forbidden until there are
    ``max_tokens``, plainly as with drafts. So no variant looks fast for having stopped early.

    Parameters
    ----------
    prompts : sequence of Prompt
    targets, drafts, gammas, temperatures, verifies : sequence
        Every combination is measured; per target and temperature there is one plain baseline. Models are named, not
        given: a sweep may run in other processes.
    max_tokens : int
        Tokens of each run, at least 1; fewer only where the context is full.
    seed : int
        Of the first prompt; the next one has the next seed.
    repeats : int
        Timed rounds per prompt; 0 measures no time. Every run is made once more, untimed and first: it warms up, and
        its text is what quality and counts are taken from.
    options : mapping
        What else :func:`minispec.engine.generation.stream` takes: top_p, backend, dtype, ...

    Raises
    ------
    OptionError
        Where something is missing, or the engine would refuse a combination.
    """

    prompts: Sequence[Prompt]
    targets: Sequence[str] = (DEFAULT_TARGET,)
    drafts: Sequence[str] = (DEFAULT_DRAFT,)
    gammas: Sequence[int | str] = (5,)
    temperatures: Sequence[float] = (0.8,)
    verifies: Sequence[str] = ("rejection",)
    max_tokens: int = 64
    seed: int = 0
    repeats: int = 3
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("prompts", "targets", "drafts", "gammas", "temperatures", "verifies"):
            values = getattr(self, name)
            if not values:
                raise OptionError(f"a sweep has no {name}; it needs at least one of each. Name one")
            if len(set(values)) < len(values):
                first = next(getattr(v, "id", v) for i, v in enumerate(values) if v in values[:i])
                flag = "verify" if name == "verifies" else name[:-1]
                raise OptionError(f"{flag} names {quote(first)} twice; it would be measured twice. Leave one out")
        if self.max_tokens < 1:
            raise OptionError(f"max-tokens is {self.max_tokens}; a measurement needs at least 1. Try --max-tokens 64")
        if self.repeats < 0:
            raise OptionError(f"repeats is {self.repeats}; it must be >= 0 (0 measures no time). Try --repeats 3")
        if self.options.get("fallback", "off") not in ("off", "request"):
            raise OptionError(
                f"fallback is {self.options['fallback']!r}; what a run remembers would change the next, and runs must "
                "be alike. Try --fallback request"
            )
        for variant in self.variants():
            checked = Options(**self.engine_options(variant, self.seed))
            if variant.draft is not None:
                check_together(variant.draft, checked)

    def variants(self) -> Iterator[Variant]:
        """Yield all of them, baselines included."""
        for target in self.targets:
            for temperature in self.temperatures:
                yield from self._variants(target, temperature)

    def _variants(self, target: str, temperature: float) -> Iterator[Variant]:
        yield Variant(target=target, draft=None, gamma=0, temperature=temperature, verify=self.verifies[0])
        for draft in self.drafts:
            for verify in self.verifies:
                for gamma in self.gammas:
                    yield Variant(target=target, draft=draft, gamma=gamma, temperature=temperature, verify=verify)

    def units(self) -> Iterator[Unit]:
        """Yield what is to be measured, all ways to decode a prompt together."""
        for target in self.targets:
            for temperature in self.temperatures:
                variants = tuple(self._variants(target, temperature))
                for number, prompt in enumerate(self.prompts):
                    yield Unit(variants, prompt, self.seed + number)

    def engine_options(self, variant: Variant, seed: int) -> dict[str, Any]:
        """Return a variant's :class:`minispec.engine.generation.options.Options`, without models and backend."""
        known = {key: value for key, value in self.options.items() if key in Options.__dataclass_fields__}
        return known | {
            "gamma": variant.gamma,
            "temperature": variant.temperature,
            "verify": variant.verify,
            "max_tokens": self.max_tokens,
            "min_tokens": self.max_tokens,
            "seed": seed,
        }

    @property
    def loading(self) -> dict[str, Any]:
        """How models given by name are loaded."""
        names = "backend", "dtype", "draft_dtype", "kv_dtype"
        return {name: self.options[name] for name in names if self.options.get(name)}

    def settings(self) -> dict[str, Any]:
        """Return JSON-able data that says all there is to say."""
        from minispec.engine.backends.threads import num_threads  # imports Numba

        return {
            "format": FORMAT,
            "minispec": minispec.__version__,
            **{name: list(getattr(self, name)) for name in ("targets", "drafts", "gammas", "temperatures", "verifies")},
            "max_tokens": self.max_tokens,
            "seed": self.seed,
            "repeats": self.repeats,
            "threads": num_threads(),
            "options": {key: self.options[key] for key in sorted(self.options)},
            "prompts": [asdict(prompt) for prompt in self.prompts],
        }

    def key(self, fingerprints: Mapping[str, str]) -> str:
        """Return a hash of the settings and of all that they name: records of one key may stand together.

        Parameters
        ----------
        fingerprints : mapping of str to str
            For each model, head, text and trace what tells it from another of the same name.
        """
        told = json.dumps([self.settings(), dict(sorted(fingerprints.items()))], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(told.encode()).hexdigest()


class Journal:
    """A file of finished units.

    Its first line says which sweep it belongs to; every other one holds the records of a unit. A line that was
    being written when the power went is cut off and its unit measured again.

    Parameters
    ----------
    file : HeldFile
    key : str
        Of the sweep, see :meth:`minispec.lab.measure.sweep.Sweep.key`.

    Raises
    ------
    OutputError
        If the file belongs to another sweep, is no journal, or cannot be written.
    """

    def __init__(self, file: HeldFile, key: str) -> None:
        self._file = file
        self.path = file.path
        self.units: dict[tuple[str, float, str], list[Record]] = {}
        if content := file.read():
            self._read(content, key)
        else:
            self._append({"minispec measure": key})

    def add(self, unit: Sequence[Record]) -> None:
        """Keep the records of a unit; they are on disk when this returns."""
        name = (unit[0].target, unit[0].temperature, unit[0].prompt_id)
        self.units[name] = list(unit)
        self._append({"records": [asdict(record) for record in unit]})

    def missing(self, units: Sequence[Unit]) -> list[Unit]:
        """Return the units that are not in it yet."""
        return [unit for unit in units if unit.name not in self.units]

    def _append(self, entry: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(entry, ensure_ascii=False) + "\n")
        self._file.sync()

    def _read(self, content: bytes, key: str) -> None:
        whole = content[: content.rfind(b"\n") + 1]
        try:
            first, *rest = [json.loads(line) for line in whole.splitlines()]
            found = first["minispec measure"]
            units = [[Record(**record) for record in entry["records"]] for entry in rest]
            if not isinstance(found, str) or not all(units):
                raise ValueError("another form")
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise OutputError(
                f"{self.path} is no journal of minispec measure ({explain(error)}). Name another with --journal FILE"
            ) from None
        if found != key:
            raise OutputError(
                f"{self.path} belongs to another sweep (it has key {found[:8]}, this one {key[:8]}): prompts, "
                "options, threads, models, texts or the version differ, and the figures would not be alike. "
                "Name another journal, or run what it was begun with"
            )
        for records in units:
            self.units[(records[0].target, records[0].temperature, records[0].prompt_id)] = records
        if len(whole) < len(content):
            self._file.cut(len(whole))


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
    timed = interleave({each: functools.partial(decode, each) for each in unit.variants}, sweep.repeats)
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
    """Return for each model, head, text and trace that a sweep names what tells it from another of the same name.

    Raises
    ------
    InputError
        If one of them cannot be found or read.
    """
    load = load or functools.partial(load_named, **sweep.loading)
    found = {f"target {name}": _hash_model(load(name, "target")) for name in sweep.targets}
    for draft, name in itertools.product(sweep.drafts, sweep.targets):
        spec = parse_draft(draft)
        if spec.kind == MODEL:
            found[f"draft {spec.name}"] = _hash_model(load(spec.name, "draft"))
            continue
        for label, files in named_files(spec, load(name, "target")):
            if label not in found:
                found[label] = hash_files(files)
    for trace in filter(None, (find_trace(str(gamma)) for gamma in sweep.gammas)):
        found[f"trace {trace}"] = hash_files([trace])
    return found


def _hash_model(model: LanguageModel) -> str:
    """Return a hash of a model's files; of one without files, of logits that depend on tokens before them."""
    folder = getattr(model, "folder", None)
    if folder is not None:
        return hash_files(model_files(folder))
    tokens = [i % model.vocab_size for i in range(min(8, model.n_positions))]
    logits = model.forward(tokens, model.new_cache(capacity=len(tokens)), len(tokens))
    return hashlib.sha256(logits.tobytes()).hexdigest()


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
            f"max-tokens is {sweep.max_tokens}; after prompt {quote(fullest)} the context has room for {least_room}, "
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
