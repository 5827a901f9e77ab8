"""What experiments on batches measure with: groups of texts, decoded one by one, together, or as a load; data sheets.

What is independent are *groups*: the texts of one share their forwards and their time. Each group is decoded in each
way, all of them taking turns, so that a group is compared with itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from minispec.engine.batching import Engine
from minispec.engine.model import GPT2
from minispec.lab.bench.together import Watch, decode_together
from minispec.lab.ledger.framework import FULL
from minispec.lab.ledger.instruments import to_interval
from minispec.lab.ledger.runs import of_each_kind
from minispec.lab.ledger.verdicts import Interval
from minispec.lab.roofline.counts import Storage
from minispec.lab.roofline.machine import get_profile
from minispec.lab.roofline.predict import BatchPoint, over_batches
from minispec.lab.roofline.shapes import get_shape
from minispec.lab.timer import interleave
from minispec.theory.intervals import paired_ratio, simultaneous

Group = Sequence[Sequence[int]]

PROMPT_TOKENS = 64
PAIR, CONTEXT = ("70b", "1b"), 512
"""Target and draft of the predictions, of one vocabulary, and the tokens in their caches."""


def make_groups(count: int, size: int) -> list[list[tuple[int, ...]]]:
    """Return ``count`` groups of ``size`` prompts of one length: held-out ones of all kinds, drawn and joined.

    They are the same in every run, and in no run are two of them the same.
    """
    parts, rng = of_each_kind(FULL.prompts), np.random.default_rng(0)

    texts: dict[tuple[int, ...], None] = {}
    while len(texts) < count * size:
        tokens: tuple[int, ...] = ()
        while len(tokens) < PROMPT_TOKENS:
            tokens = (*parts[rng.integers(len(parts))], *tokens)
        texts[tokens[-PROMPT_TOKENS:]] = None
    drawn = list(texts)
    return [drawn[i * size : (i + 1) * size] for i in range(count)]


def together(target: GPT2, draft: GPT2, group: Group, gamma: int, num_tokens: int) -> float:
    """Decode a group together, greedily; return seconds per token, prompts left out."""
    return 1.0 / decode_together(target, draft, group, gamma, num_tokens).tokens_per_s


def one_by_one(target: GPT2, draft: GPT2, group: Group, gamma: int, num_tokens: int) -> float:
    """Decode a group one text after the other, with the same engine; return seconds per token, prompts left out."""
    runs = [decode_together(target, draft, [text], gamma, num_tokens) for text in group]
    return sum(run.seconds for run in runs) / sum(run.num_tokens for run in runs)


def serve(
    target: GPT2, draft: GPT2 | None, group: Group, lengths: Sequence[int], concurrency: int, gamma: int | str
) -> float:
    """Serve requests that all wait from the beginning; return seconds per token, prompts included.

    Parameters
    ----------
    target, draft : GPT2
        Plain decoding without a draft.
    group : sequence of token sequences
    lengths : sequence of int
        Tokens of the requests, again from the beginning if there are more of them.
    concurrency : int
        Places.
    gamma : int or "load"
    """
    watch = Watch(time.perf_counter)
    engine = Engine(watch.over(target), max_running=concurrency)
    drafts = None if draft is None else watch.over(draft)
    for i, prompt in enumerate(group):
        engine.add(prompt, draft=drafts, gamma=gamma, temperature=0.0, max_tokens=lengths[i % len(lengths)])
    started = time.perf_counter()
    made = engine.run()
    return (time.perf_counter() - started) / sum(len(each.token_ids) for each in made)


@dataclass(frozen=True)
class GroupTimings:
    """Seconds per token.

    Attributes
    ----------
    seconds : dict of str to list of list of float
        By way: of each group, those of each round.
    """

    seconds: Mapping[str, list[list[float]]]

    def faster(self, base: str, other: str, of: int = 1) -> Interval:
        """Return how many times faster ``other`` was, groups paired; ``of`` so many that one verdict reads."""
        return to_interval(paired_ratio(self.seconds[base], self.seconds[other], simultaneous(of)))


def time_groups(ways: Mapping[str, Callable[[Group], float]], groups: Sequence[Group], rounds: int) -> GroupTimings:
    """Decode each group in each way, all of them taking turns.

    Before, each way decodes a text, as its first run finds cold caches.

    Parameters
    ----------
    ways : mapping of str to callable
        Decodes a group and returns seconds per token.
    groups : sequence of groups
    rounds : int
    """
    for way in ways.values():
        way(groups[0][:1])
    turns = {(i, name): partial(way, group) for i, group in enumerate(groups) for name, way in ways.items()}
    found = interleave(turns, rounds)
    return GroupTimings({name: [found[i, name] for i in range(len(groups))] for name in ways})


def on_card(
    card: str, batches: Sequence[int], *, alpha: float, gamma: int, storage: str = "float16"
) -> list[BatchPoint]:
    """Predict batches of a large pair from a data sheet: two perfect ceilings, caches in 16 bits."""
    shapes = [get_shape(name) for name in PAIR]
    return over_batches(
        shapes[0],
        get_profile(card),
        batches,
        context=CONTEXT,
        storage=Storage(storage),
        kv_bytes=2,
        gamma=gamma,
        alpha=alpha,
        draft=shapes[1],
    )
