"""What experiments look at: the bundled pair, held-out prompts by domain, and the runs of each, several seeds a prompt.

What is independent are prompts, not seeds: the runs of one prompt stay together, and are a cluster wherever an interval
is made.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import islice
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from minispec.engine.batching import Engine
from minispec.engine.drafters import load_draft
from minispec.engine.generation import Emitted, Finished, Generation, Stream, stream
from minispec.engine.loading import load_model
from minispec.engine.loading.bundled import DEFAULT_DRAFT, DEFAULT_TARGET
from minispec.engine.model import GPT2
from minispec.engine.model.asks import answer
from minispec.lab.ledger.framework import Scale
from minispec.lab.prompts import OWN, Prompt, parse_prompts

Counts = NDArray[np.int32]

TARGET, DRAFT, SMALL_DRAFT, CODE_DRAFT = DEFAULT_TARGET, DEFAULT_DRAFT, "draft-0.6m", "draft-1.6m-code"
DOMAINS = ("stories", "code", "questions")


@functools.cache
def model(name: str, dtype: str = "float32") -> GPT2:
    """Return a model, loaded once and compiled."""
    loaded = load_model(name, dtype=dtype)
    loaded.backend.warm_up()
    return loaded


@functools.cache
def _held_out_prompts() -> tuple[Prompt, ...]:
    """Return the prompts that ``python -m minispec.lab.training prompts`` drew."""
    text = resources.files("minispec.lab.ledger").joinpath("prompts.jsonl").read_text(encoding="utf-8")
    return parse_prompts(text, "the held-out prompts", OWN)


@functools.cache
def prompts(domain: str, count: int) -> tuple[tuple[int, ...], ...]:
    """Return the first ``count`` held-out prompts of a domain, as tokens of the target."""
    tokenizer = model(TARGET).tokenizer
    assert tokenizer is not None  # the bundled models have one
    texts = [prompt.text for prompt in _held_out_prompts() if prompt.domain == domain]
    return tuple(tuple(tokenizer.encode(text)) for text in texts[:count])


def of_each_kind(count: int, skip: int = 0) -> list[tuple[int, ...]]:
    """Return ``count`` prompts of every domain, those behind the first ``skip``."""
    return [prompt for domain in DOMAINS for prompt in prompts(domain, skip + count)[skip:]]


def long_prompts(count: int, length: int) -> list[tuple[int, ...]]:
    """Return ``count`` prompts of exactly ``length`` tokens: the held-out ones in a row, each beginning elsewhere."""
    text = [token for prompt in of_each_kind(-(-count // len(DOMAINS))) for token in prompt]
    text *= 1 + length // len(text)
    starts = [i * len(text) // count for i in range(count)]
    return [tuple((text[start:] + text[:start])[:length]) for start in starts]


class Turn(NamedTuple):
    """A step of a run: what was drafted, what was emitted, and how many of the drafts that were."""

    draft_tokens: tuple[int, ...]
    tokens: tuple[int, ...]
    num_accepted: int


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """What experiments read of a generation, in a few small arrays: tens of thousands of runs stay in memory.

    Attributes
    ----------
    prompt : tuple of int
    tokens : ndarray of shape (T,), int32
        Emitted.
    drafts : ndarray of shape (D,), int32
        Drafted, step after step.
    drafted, accepted, evaluated, emitted : ndarray of shape (S,), int32
        How many tokens in each step behind the first token; see :class:`minispec.engine.records.Step`.
    """

    prompt: tuple[int, ...]
    tokens: Counts
    drafts: Counts
    drafted: Counts
    accepted: Counts
    evaluated: Counts
    emitted: Counts

    @classmethod
    def read(cls, prompt: Sequence[int], generation: Generation) -> Self:
        """Take out of a generation what is read."""
        steps = generation.steps[1:]

        def row(values: Sequence[int]) -> Counts:
            return np.array(values, np.int32)

        return cls(
            tuple(prompt),
            row(generation.token_ids),
            row([token for step in steps for token in step.draft_tokens]),
            row([len(step.draft_tokens) for step in steps]),
            row([step.num_accepted for step in steps]),
            row([step.num_evaluated for step in steps]),
            row([len(step.tokens) for step in steps]),
        )

    # by the names that :class:`minispec.engine.generation.result.Metrics` has for them

    @property
    def num_tokens(self) -> int:
        """Tokens emitted."""
        return len(self.tokens)

    @property
    def num_decode_tokens(self) -> int:
        """Those behind the first, which the prefill gives."""
        return len(self.tokens) - 1

    @property
    def num_steps(self) -> int:
        """Target forwards after the prefill."""
        return len(self.drafted)

    @property
    def num_draft_tokens(self) -> int:
        """Tokens drafted."""
        return len(self.drafts)

    @property
    def num_accepted_tokens(self) -> int:
        """Drafts that were emitted."""
        return int(self.accepted.sum())

    @property
    def num_evaluated_tokens(self) -> int:
        """Emitted tokens that answer an acceptance test."""
        return int(self.evaluated.sum())

    @property
    def begun(self) -> list[int]:
        """Prompt and first token: what the first step begins with."""
        return self.text[: len(self.prompt) + 1]

    @property
    def text(self) -> list[int]:
        """Prompt and emitted tokens."""
        return [*self.prompt, *self.tokens.tolist()]

    def steps(self) -> Iterator[Turn]:
        """Yield the steps behind the first token."""
        drafts, tokens = iter(self.drafts.tolist()), iter(self.tokens[1:].tolist())
        for drafted, emitted, accepted in zip(self.drafted, self.emitted, self.accepted, strict=True):
            yield Turn(tuple(islice(drafts, drafted)), tuple(islice(tokens, emitted)), int(accepted))


def read_prompt(run: Stream) -> None:
    """Take a run to where drafts begin: its first token is there, and its drafter has read the prompt."""
    while not isinstance(next(run), Emitted):
        pass
    answer(run.drafter.prefill(run.tokens[:-1]))


Texts = Sequence[Sequence[Sample]]
"""Of each text, its runs: a cluster."""


def _options(num_tokens: int, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of exactly ``num_tokens`` tokens of the bundled pair, unless told otherwise, no nucleus."""
    given = {"draft": DRAFT, "gamma": 5, "top_p": 1.0, "temperature": 1.0, **options}
    if isinstance(given["draft"], str):
        given["draft"] = load_draft(given["draft"], model)
    return {"min_tokens": num_tokens, "max_tokens": num_tokens, **given}


def decode(prompt: Sequence[int], num_tokens: int, **options: Any) -> Generation:
    """Generate exactly ``num_tokens`` tokens with the bundled pair, unless told otherwise, without nucleus."""
    return stream(prompt, **{"target": model(TARGET), **_options(num_tokens, options)}).run()


def decode_texts(
    texts: Sequence[Sequence[int]],
    num_tokens: int,
    seeds: int = 1,
    first_seed: int = 0,
    target: str = TARGET,
    company: int = 16,
    **options: Any,
) -> Texts:
    """Decode texts with several seeds each, together: every run is what :func:`decode` makes of it alone.

    Parameters
    ----------
    texts : sequence of token sequences
    num_tokens : int
    seeds : int
        Of each text; no two runs have the same one.
    first_seed : int
    target : str
        Name of the model that judges.
    company : int
        Runs at a time, at most.
    **options
        Those of :func:`decode`.
    """
    engine, given = Engine(model(target), max_running=company), _options(num_tokens, options)
    for i in range(len(texts) * seeds):
        engine.add(texts[i // seeds], seed=first_seed + i, **given)
    runs: dict[int, Sample] = {}
    for number, event in engine:
        if isinstance(event, Finished):  # and forget it: the steps of a long list of long texts take much memory
            runs[number] = Sample.read(texts[number // seeds], engine.generation(number))
            engine.forget(number)
    return tuple(tuple(runs[i * seeds + k] for k in range(seeds)) for i in range(len(texts)))


def decode_all(domain: str, scale: Scale, num_tokens: int | None = None, **options: Any) -> Texts:
    """Decode a domain's prompts, where tokens are drawn with several seeds each; the same runs are made once.

    Parameters
    ----------
    domain : str
    scale : Scale
    num_tokens : int, optional
        Other than the scale's.
    **options
        Those of :func:`decode`.
    """
    given = {"draft": DRAFT, "gamma": 5, "temperature": 1.0, "verify": "rejection", **options}
    seeds = scale.seeds if given["temperature"] else 1  # greedy texts of all seeds are the same
    return _decode_once(domain, scale.prompts, seeds, num_tokens or scale.tokens, tuple(sorted(given.items())))


@functools.cache  # experiments that count look at the same runs; what is timed never comes from here
def _decode_once(domain: str, count: int, seeds: int, num_tokens: int, options: tuple[tuple[str, Any], ...]) -> Texts:
    first_seed = DOMAINS.index(domain) * count * seeds
    return decode_texts(prompts(domain, count), num_tokens, seeds, first_seed, **dict(options))


def synthetic(acceptance: float, gamma: int, scale: Scale) -> Texts:
    """Decode with a draft that is accepted with one probability at every position: the formulas' assumption made true.

    ``SyntheticDrafter`` mixes noise into the target's own distribution, so that acceptance is exact with any target:
    this one is the smallest model there is. What a draft costs is charged afterwards.
    """
    return decode_all("stories", scale, draft=f"synthetic:alpha={acceptance}", gamma=gamma, target=SMALL_DRAFT)
