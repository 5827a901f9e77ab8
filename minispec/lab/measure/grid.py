"""A like-for-like sweep: which prompts, which ways to decode them, and what makes two sweeps the same one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import minispec
from minispec.engine.generation.options import Options
from minispec.engine.generation.prepare import check_together
from minispec.engine.loading.bundled import DEFAULT_DRAFT, DEFAULT_TARGET
from minispec.errors import OptionError
from minispec.lab.prompts import Prompt

FORMAT = 2
"""Of what a sweep writes; another number is another sweep."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to decode: a target, what drafts for it, and the options that are varied.

    Attributes
    ----------
    target : str
    draft : str or None
        None is plain decoding, the baseline; then ``gamma`` and ``verify`` mean nothing.
    gamma : int or str
    temperature : float
    verify : str
    """

    target: str
    draft: str | None
    gamma: int | str
    temperature: float
    verify: str

    @property
    def plain(self) -> bool:
        """Whether nothing drafts."""
        return self.draft is None


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
        What else :func:`minispec.stream` takes: top_p, backend, dtype, ...

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
                raise OptionError(f"{name} names something twice; it would be measured twice. Leave one out")
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
        return {
            "format": FORMAT,
            "minispec": minispec.__version__,
            **{name: list(getattr(self, name)) for name in ("targets", "drafts", "gammas", "temperatures", "verifies")},
            "max_tokens": self.max_tokens,
            "seed": self.seed,
            "repeats": self.repeats,
            "options": {key: self.options[key] for key in sorted(self.options)},
            "prompts": [asdict(prompt) for prompt in self.prompts],
        }

    def key(self, fingerprints: Mapping[str, str]) -> str:
        """Return a hash of the settings and of what the models compute: records of one key may stand together.

        Parameters
        ----------
        fingerprints : mapping of str to str
            For each model what tells it from another of the same name.
        """
        told = json.dumps([self.settings(), dict(sorted(fingerprints.items()))], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(told.encode()).hexdigest()
