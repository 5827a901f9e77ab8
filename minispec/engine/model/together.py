"""One forward for many readers: those who ask the same model at the same time share it.

Rows do not see one another: a token attends to its own text, and the kernels compute a row in one order, whatever other
rows there are. So everyone is answered with the bits of a forward for it alone, as long as the backend is
batch-invariant; and the weights are read once.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from minispec.engine.backends.base import Array, Feed
from minispec.engine.model.asks import Ask
from minispec.engine.model.cache import KVCache


def answer_together(asks: Sequence[Ask]) -> list[Array]:
    """Answer asks, with one forward for all of a model whose caches share their memory.

    Parameters
    ----------
    asks : sequence of Ask
        Of different sessions.

    Returns
    -------
    list of ndarray of shape (num_logits, V)
        The answers, in the order of the asks.

    Raises
    ------
    OutOfPagesError
        Before any forward, if a cache gets no room for its tokens. All asks may be asked again.
    """
    feeds = [ask.feed() for ask in asks]
    groups: dict[Hashable, list[int]] = {}
    for i, (ask, feed) in enumerate(zip(asks, feeds, strict=True)):
        memory = id(ask.session.cache.recordings)  # caches that share their memory share the backend's notes on it
        groups.setdefault((id(ask.session.model), memory, feed.num_layers), []).append(i)
    answers: dict[int, Array] = {}
    for members in groups.values():
        caches, parts = [asks[i].session.cache for i in members], [feeds[i] for i in members]
        model = asks[members[0]].session.model
        logits = model.run(join(parts), caches[0] if len(caches) == 1 else JoinedCaches(caches, parts))
        first = 0
        for i, part in zip(members, parts, strict=True):
            answers[i] = logits[first : first + part.num_logits]
            asks[i].note(answers[i])
            first += part.num_logits
    return [answers[i] for i in range(len(asks))]


def join(feeds: Sequence[Feed]) -> Feed:
    """Return one feed of all tokens: first those whose logits nobody wants, then the others, feed after feed."""
    if len(feeds) == 1:
        return feeds[0]
    if any(feed.visible is not None for feed in feeds):  # a tree among them: everyone says what it sees
        last = max(feed.ends.max() for feed in feeds)
        feeds = [replace(feed, visible=np.arange(last) < feed.ends[:, None]) if feed.visible is None else feed
                 for feed in feeds]  # fmt: skip
    stacked: dict[str, Any] = {name: _stack([getattr(feed, name) for feed in feeds]) for name in feeds[0].arrays()}
    joined = replace(feeds[0], **stacked, num_logits=sum(feed.num_logits for feed in feeds), span=(0, 0))
    # All are wanted in a step without prompts, which is nearly every step: nothing is moved then.
    if joined.num_logits == len(joined.tokens):
        return joined
    wanted = np.concatenate([np.arange(len(feed.tokens)) >= len(feed.tokens) - feed.num_logits for feed in feeds])
    return joined.take(np.argsort(wanted, kind="stable"))


def _stack(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Put arrays behind one another; the rows of matrices of different widths get zeros to their right."""
    if parts[0].ndim == 1 or len({part.shape[1] for part in parts}) == 1:
        return np.concatenate(parts)
    stacked = np.zeros((sum(len(part) for part in parts), max(part.shape[1] for part in parts)), parts[0].dtype)
    first = 0
    for part in parts:
        stacked[first : first + len(part), : part.shape[1]] = part
        first += len(part)
    return stacked


class JoinedCaches:
    """Several caches with one memory, as one forward sees them.

    Parameters
    ----------
    caches : sequence of KVCache
    feeds : sequence of Feed
        What each of them is fed.
    """

    def __init__(self, caches: Sequence[KVCache], feeds: Sequence[Feed]) -> None:
        self._parts = list(zip(caches, feeds, strict=True))
        memory = caches[0]
        self.keys, self.values, self.features = memory.keys, memory.values, memory.features
        self.recordings, self.store = memory.recordings, memory.store

    def extend(self, feed: Feed) -> None:
        """Count each cache's own part in."""
        for cache, part in self._parts:
            cache.extend(part)
