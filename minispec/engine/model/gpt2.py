"""A GPT-2 that is ready to run: config, packed weights, and the backend that packed them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from minispec.engine.backends import settle_kv_dtype
from minispec.engine.backends.base import Array, Backend, Feed
from minispec.engine.backends.formats import AUTO
from minispec.engine.model.cache import PAGE_SIZE, KVCache
from minispec.engine.model.config import GPT2Config
from minispec.engine.model.forward import forward
from minispec.engine.model.language_model import FedCache
from minispec.engine.model.session import Session
from minispec.engine.model.weights import Weights, num_parameters
from minispec.engine.tokenizer import Tokenizer
from minispec.errors import OptionError, PromptError

if TYPE_CHECKING:
    from minispec.engine.model.pages import PagePool


@dataclass(frozen=True, eq=False, repr=False)  # a model is itself: an identity that can be a key
class GPT2:
    """A loaded model.

    Parameters
    ----------
    name : str
        The folder, bundled name or hub name that the user gave.
    config : GPT2Config
    weights : Weights
        As packed by ``backend``.
    backend : Backend
    tokenizer : Tokenizer or None
        The folder's tokenizer, if it has one.
    dtype : str
        The number format of the weights in memory.
    kv_dtype : str
        The number format of keys and values in its caches; "auto" becomes the usual one of the backend.
    pool : PagePool or None
        Where its caches lie; by default each has memory of its own.
    folder : Path or None
        Where its files lie, and heads that were trained for it; None for a model made in memory.
    """

    name: str
    config: GPT2Config
    weights: Weights
    backend: Backend
    tokenizer: Tokenizer | None = None
    dtype: str = "float32"
    kv_dtype: str = AUTO
    pool: PagePool | None = None
    folder: Path | None = None

    def __post_init__(self) -> None:
        """Settle the format of keys and values: see :func:`minispec.engine.backends.settle_kv_dtype`."""
        object.__setattr__(self, "kv_dtype", settle_kv_dtype(self.backend, self.dtype, self.kv_dtype))

    def __repr__(self) -> str:
        """Name the model; its arrays would fill the screen."""
        return f"GPT2({self.name!r}, {self.num_parameters:,} parameters, {self.dtype}, backend {self.backend.name!r})"

    @property
    def vocab_size(self) -> int:
        """V."""
        return self.config.vocab_size

    @property
    def n_positions(self) -> int:
        """Longest sequence the model can hold, in tokens."""
        return self.config.n_positions

    @property
    def eos_token_id(self) -> frozenset[int]:
        """Tokens that end a text."""
        return self.config.eos_token_id

    @property
    def batch_invariant(self) -> bool:
        """Whether a row's logits have the same bits whatever other rows are computed with it."""
        return self.backend.batch_invariant

    @property
    def num_parameters(self) -> int:
        """Number of parameters."""
        return num_parameters(self.config)

    def new_cache(self, capacity: int | None = None) -> KVCache:
        """Return an empty cache, by default for the whole context."""
        config = self.config
        if self.pool is not None and capacity is None:
            from minispec.engine.model.paged import PagedCache

            return PagedCache(self.pool, config.n_positions)
        return KVCache(
            n_layer=config.n_layer,
            n_head=config.n_head,
            head_size=config.head_size,
            capacity=capacity or config.n_positions,
            backend=self.backend,
            kv_dtype=self.kv_dtype,
        )

    def forward(
        self,
        tokens: Sequence[int],
        cache: KVCache,
        num_logits: int | None = None,
        *,
        positions: Sequence[int] | None = None,
        visible: NDArray[np.bool_] | None = None,
    ) -> Array:
        """Feed ``tokens`` to ``cache``; see :meth:`minispec.engine.model.cache.KVCache.feed`."""
        return self.run(cache.feed(tokens, positions=positions, visible=visible, num_logits=num_logits), cache)

    def run(self, feed: Feed, cache: FedCache) -> Array:
        """Run the forward of a feed, and count it in."""
        return forward(self.weights, self.config, self.backend, feed, cache)

    def with_pages(self, num_pages: int, page_size: int = PAGE_SIZE) -> GPT2:
        """Return this model with caches that share a pool of pages."""
        from minispec.engine.model.pages import PagePool

        config = self.config
        sizes = config.n_layer, config.n_head, config.head_size, num_pages, page_size
        return replace(self, pool=PagePool(*sizes, backend=self.backend, kv_dtype=self.kv_dtype))

    def session(self) -> Session:
        """Return a new session: an empty cache and the tokens it has seen."""
        return Session(self)

    def logits(self, tokens: Sequence[int]) -> Array:
        """Return the logits after every token of ``tokens``, computed from scratch.

        Parameters
        ----------
        tokens : sequence of int, length T
            1 <= T <= ``n_positions``.

        Returns
        -------
        ndarray of shape (T, V), float32

        Raises
        ------
        PromptError
            If there is no token, or more than the context holds.
        OptionError
            If an id is outside the vocabulary.
        """
        if not 0 < len(tokens) <= self.n_positions:
            raise PromptError(f"got {len(tokens)} tokens; {self.name} takes 1 to {self.n_positions}. Shorten the text")
        ids = np.asarray(tokens)
        if ids.ndim != 1 or ids.dtype.kind not in "iu" or ids.min() < 0 or ids.max() >= self.vocab_size:
            raise OptionError(
                f"token ids must be integers in a row, from 0 to {self.vocab_size - 1}, the vocabulary of {self.name}"
            )
        return self.forward(tokens, self.new_cache(capacity=len(tokens)))
