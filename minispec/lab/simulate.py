"""Decoding on a simulated clock: every forward costs what a cost model says, whatever this machine does meanwhile.

Policies that react to time can then be judged exactly and repeatably: the same run always costs the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minispec.engine.backends.base import Array
from minispec.engine.model.cache import KVCache
from minispec.engine.model.language_model import LanguageModel
from minispec.engine.model.session import Session, count_shared
from minispec.errors import OptionError


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


@dataclass(frozen=True, slots=True)
class CostModel:
    """What forwards cost, in units of the target's forward over one row.

    Parameters
    ----------
    draft : float
        c: a draft forward over one row.
    row : float
        Each further row of a forward, as a share of its first: v(m) = 1 + row (m - 1).
    """

    draft: float = 0.1
    row: float = 0.05

    def __post_init__(self) -> None:
        if min(self.draft, self.row) < 0.0:
            raise OptionError(f"the costs are {self.draft} and {self.row}; a ratio of two times is >= 0")

    def target_cost(self, rows: int) -> float:
        """Return v(rows)."""
        return 1.0 + self.row * (rows - 1)

    def draft_cost(self, rows: int) -> float:
        """Return c v(rows)."""
        return self.draft * self.target_cost(rows)


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

    def forward(
        self,
        tokens: Sequence[int],
        cache: KVCache,
        num_logits: int | None = None,
        *,
        positions: Sequence[int] | None = None,
        visible: NDArray[np.bool_] | None = None,
    ) -> Array:
        """Run the model's forward and charge its cost."""
        self._clock.charge(self._cost(len(tokens)))
        return self._model.forward(tokens, cache, num_logits, positions=positions, visible=visible)


class RememberingModel:
    """A language model that computes each prefix once: many runs over one text then cost little more than one.

    Its caches hold tokens and nothing else; the keys and values are in one session of its own, which is set back to
    whatever a new prefix shares with the last one. Chains only: a tree's rows are computed by the model itself.

    Parameters
    ----------
    model : LanguageModel
        Batch-invariant, or what is remembered would depend on what was asked first.
    """

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._session = Session(model)
        self._rows: dict[bytes, Array] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def new_cache(self, capacity: int | None = None) -> KVCache:
        """Return a cache for tokens: one layer, one head, one number per slot."""
        return KVCache(n_layer=1, n_head=1, head_size=1, capacity=capacity or self._model.n_positions)

    def forward(
        self,
        tokens: Sequence[int],
        cache: KVCache,
        num_logits: int | None = None,
        *,
        positions: Sequence[int] | None = None,
        visible: NDArray[np.bool_] | None = None,
    ) -> Array:
        """Return the logits after the last ``num_logits`` of ``tokens``, remembered where they can be."""
        if visible is not None:
            raise NotImplementedError("trees are not remembered")
        feed = cache.feed(tokens, num_logits=num_logits)
        written = feed.tokens.astype(np.float32)[:, None, None]
        cache.store(0, feed, written, written)
        cache.extend(feed)
        text, wanted = cache.keys[0, 0, : cache.length, 0, 0].astype(np.int32), feed.num_logits
        keys = [text[:length].tobytes() for length in range(len(text) - wanted + 1, len(text) + 1)]
        if not all(key in self._rows for key in keys):
            prefix = text.tolist()
            self._session.rollback(min(count_shared(self._session.tokens, prefix), len(prefix) - wanted))
            self._rows.update(zip(keys, self._session.score(prefix[self._session.length :], wanted), strict=True))
        return np.asarray([self._rows[key] for key in keys], np.float32).reshape(wanted, self._model.vocab_size)


class MisleadingDraft:
    """A draft model made useless: what it says of token i it had said of token i - 1. As sure of itself as before.

    Parameters
    ----------
    model : LanguageModel
    """

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def forward(
        self,
        tokens: Sequence[int],
        cache: KVCache,
        num_logits: int | None = None,
        *,
        positions: Sequence[int] | None = None,
        visible: NDArray[np.bool_] | None = None,
    ) -> Array:
        """Return the model's logits, shifted by one token."""
        logits = self._model.forward(tokens, cache, num_logits, positions=positions, visible=visible)
        shifted: Array = np.roll(logits, 1, axis=1)
        return shifted
