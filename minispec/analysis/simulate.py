"""Decoding on a simulated clock: every forward costs what a cost model says, whatever this machine does meanwhile.

Policies that react to time can then be judged exactly and repeatably: the same run always costs the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minispec.backends.base import Array
from minispec.model.cache import KVCache
from minispec.model.session import LanguageModel


class SimulatedClock:
    """A clock that only moves when it is charged. Call it for the time, in seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Return the time, in seconds."""
        return self.now

    def charge(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


class CostedModel:
    """A language model whose forwards move a simulated clock.

    Parameters
    ----------
    model : LanguageModel
        Does the work; everything but ``forward`` is its own.
    clock : SimulatedClock
    cost : callable
        Maps the rows of a forward to its seconds.
    """

    def __init__(self, model: LanguageModel, clock: SimulatedClock, cost: Callable[[int], float]) -> None:
        self._model = model
        self._clock = clock
        self._cost = cost

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def forward(self, tokens: Sequence[int], cache: KVCache, num_logits: int | None = None) -> Array:
        """Run the model's forward and charge its cost."""
        self._clock.charge(self._cost(len(tokens)))
        return self._model.forward(tokens, cache, num_logits)
