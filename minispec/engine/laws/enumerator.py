"""The exact output law of an unchanged program: stand in for its Noise and replay it over every branch.

A program that asks only ``bernoulli`` and ``categorical`` is a finite tree: each question is a node, each answer of
positive probability a branch. The enumerator walks it depth first by *replaying*: run the program with a script of
answers, extend the script with first answers, then change the last answer that has an alternative, and run again.
Nothing in the program knows; there is no second implementation to keep in step.

It certifies the logic, given ideal noise. What it cannot see is noise that is not ideal: so it raises where one
address is read twice, and the generator has tests of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from minispec.engine.noise import Address, Noise
from minispec.errors import InvariantError

Outcome = TypeVar("Outcome", bound=Hashable)
Law = dict[Outcome, float]
"""Probabilities of outcomes; they sum to 1."""

_ROUNDING = 1e-9  # a row of V probabilities sums to 1 within V ulp, far below this


@dataclass(frozen=True, slots=True)
class _Question:
    """One node of the tree: where it was asked, what could be answered, how likely, and the answer that is given."""

    at: Address
    answers: tuple[int, ...]
    probs: tuple[float, ...]
    chosen: int

    @property
    def key(self) -> tuple[Address, tuple[int, ...], tuple[float, ...]]:
        return self.at, self.answers, self.probs


class _ScriptedNoise:
    """Answers from a script of choices, then always the first possible answer, and keeps the trail."""

    def __init__(self, script: list[_Question]) -> None:
        self._script = script
        self._read: set[Address] = set()
        self.trail: list[_Question] = []

    def bernoulli(self, prob: float, at: Address) -> bool:
        if math.isnan(prob):
            raise InvariantError(f"bernoulli at {at} was asked with probability NaN")
        chance = min(1.0, max(0.0, float(prob)))
        return bool(self._ask(at, (1, 0), (chance, 1.0 - chance)))

    def categorical(self, probs: NDArray[np.float64], at: Address) -> int:
        row = tuple(float(prob) for prob in probs)
        if not all(prob >= 0.0 for prob in row) or abs(sum(row) - 1.0) > _ROUNDING:
            raise InvariantError(f"categorical at {at} was asked with {row}, which is no distribution")
        return self._ask(at, tuple(range(len(row))), row)

    def _ask(self, at: Address, answers: tuple[int, ...], probs: tuple[float, ...]) -> int:
        if at in self._read:
            raise InvariantError(f"noise at {at} was read twice; each address answers one question")
        self._read.add(at)
        possible = [i for i, prob in enumerate(probs) if prob > 0.0]
        answers, probs = tuple(answers[i] for i in possible), tuple(probs[i] for i in possible)
        depth, chosen = len(self.trail), 0
        if depth < len(self._script):
            planned = self._script[depth]
            if planned.key != (at, answers, probs):
                raise InvariantError(
                    f"the run is not a function of its noise: {planned.key} became {at, answers, probs}"
                )
            chosen = planned.chosen
        self.trail.append(_Question(at, answers, probs, chosen))
        return answers[chosen]


class Enumerator(Generic[Outcome]):
    """The exact law of ``run``'s outcome.

    Parameters
    ----------
    run : callable
        Takes a Noise, returns something hashable; it must get all its randomness from that Noise and start afresh
        each time.
    max_runs : int
        Give up beyond this many branches.

    Attributes
    ----------
    num_runs : int
        Branches walked so far.

    Examples
    --------
    >>> from minispec.engine.noise import Address
    >>> law = Enumerator(lambda noise: noise.bernoulli(0.25, Address("accept", 0))).law()
    >>> law == {True: 0.25, False: 0.75}
    True
    """

    def __init__(self, run: Callable[[Noise], Outcome], *, max_runs: int = 1_000_000) -> None:
        self._run = run
        self._max_runs = max_runs
        self.num_runs = 0

    def law(self) -> Law[Outcome]:
        """Walk every branch.

        Raises
        ------
        InvariantError
            If an address is read twice, a question is malformed, the run depends on anything but its noise, or there
            are more than ``max_runs`` branches.
        """
        terms: dict[Outcome, list[float]] = {}
        script: list[_Question] | None = []
        while script is not None:
            if self.num_runs == self._max_runs:
                raise InvariantError(f"more than {self._max_runs} branches; make the model or the text smaller")
            self.num_runs += 1
            noise = _ScriptedNoise(script)
            outcome = self._run(noise)
            if len(noise.trail) < len(script):
                raise InvariantError("the run is not a function of its noise: it asked fewer questions on replay")
            terms.setdefault(outcome, []).append(math.prod(node.probs[node.chosen] for node in noise.trail))
            script = _next_script(noise.trail)
        return {outcome: math.fsum(probs) for outcome, probs in terms.items()}


def _next_script(trail: list[_Question]) -> list[_Question] | None:
    """Change the last answer that has an alternative; None when every branch has been walked."""
    for depth in range(len(trail) - 1, -1, -1):
        node = trail[depth]
        if node.chosen + 1 < len(node.answers):
            return [*trail[:depth], _Question(node.at, node.answers, node.probs, node.chosen + 1)]
    return None
