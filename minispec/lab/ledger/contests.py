"""Drafts against one another, each with the options that are best for it on texts that judge nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from minispec.engine.drafters.heads import load_head
from minispec.lab.ledger.framework import Scale
from minispec.lab.ledger.instruments import Timings, time_texts, tokens_per_step
from minispec.lab.ledger.runs import TARGET, model, of_each_kind
from minispec.lab.ledger.verdicts import Interval

TEMPERATURES = (0.0, 1.0)
GAMMAS = (2, 3, 5)
"""What the length of a chain is chosen from; the bundled heads were trained for five tokens."""

PLAIN = "plain"
COLUMNS = ("temperature", "draft", "c", "tokens per pass", "speedup")
"""What :func:`tell` says of a contender; an entry's own columns follow."""

Ways = Mapping[str, Mapping[str, Any]]
"""By name, options of :func:`minispec.lab.ledger.runs.decode`."""


def name_chain(draft: str, gamma: int) -> str:
    """Return the name of a way to draft."""
    return f"{draft}, γ = {gamma}"


def offer_chains(draft: str) -> Ways:
    """Return a draft's chains of all lengths there are to choose from."""
    return {name_chain(draft, gamma): {"draft": draft, "gamma": gamma} for gamma in GAMMAS}


def warm_up(heads: Iterable[str]) -> None:
    """Read the heads in the target's folder, and compile what they compute with.

    Raises
    ------
    OptionError
        If the target has no such head, or it belongs to another.
    """
    for kind in heads:
        head = load_head(None, kind, model(TARGET))
        head.backend.warm_up(head.dtype)


@dataclass(frozen=True)
class Contest:
    """What was timed in turns: plain decoding, each contender's best way, and others on demand.

    Attributes
    ----------
    best : dict of str to str
        By contender, the way that was fastest on other texts.
    times : Timings
    """

    best: dict[str, str]
    times: Timings

    def describe(self, contender: str, of: int = 1) -> dict[str, Any]:
        """Return what a contender's best way is, costs and gains; ``of`` so many that one verdict reads."""
        way = self.best[contender]
        costs = self.times.costs(PLAIN, way)
        return {
            "draft": contender,
            "way": way,
            "c": costs.cost_ratio,
            "v": costs.verify_cost + costs.overhead,
            "length": tokens_per_step(self.times.metrics[way]),
            "speedup": self.times.faster(PLAIN, way, of),
        }


def tell(temperature: float, described: Mapping[str, Any]) -> tuple[object, ...]:
    """Return the row of a contender, as :meth:`Contest.describe` has it, for a table with :data:`COLUMNS`."""
    cost, length = f"{described['c']:.3f}", f"{described['length']:.2f}"
    return f"{temperature:g}", described["way"], cost, length, Interval(*described["speedup"])


def hold_contest(
    contenders: Mapping[str, Ways], temperature: float, scale: Scale, beside: Iterable[str] = ()
) -> Contest:
    """Choose each contender's fastest way on texts of their own, then time the chosen ones in turns on others.

    Parameters
    ----------
    contenders : mapping of str to ways
        A verdict on what was best in hindsight would flatter whoever has more ways to choose from.
    temperature : float
    scale : Scale
    beside : iterable of str
        Ways that are timed whether they are chosen or not.
    """
    ways = {name: {**given, "temperature": temperature} for own in contenders.values() for name, given in own.items()}
    tokens = scale.tokens
    trial = time_texts(ways, of_each_kind((scale.timed + 1) // 2, skip=scale.timed), tokens, rounds=1)
    best = {contender: trial.fastest(own) for contender, own in contenders.items()}
    timed = {name: ways[name] for name in (*best.values(), *beside)}
    plain = {PLAIN: {"draft": None, "temperature": temperature}}
    return Contest(best, time_texts(plain | timed, of_each_kind(scale.timed), tokens, scale.text_rounds))
