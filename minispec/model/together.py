"""One forward for many readers: those who ask the same model at the same time share it.

Rows do not see one another: a token attends to its own text, and the kernels compute a row in one order, whatever other
rows there are. So everyone is answered with the bits of a forward for it alone, as long as the backend is
batch-invariant; and the weights are read once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence

import numpy as np

from minispec.backends.base import Array, Feed
from minispec.model.cache import KVCache
from minispec.model.session import Ask


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
        logits = model.run(join(parts), caches[0] if len(caches) == 1 else _Together(caches, parts))
        firsts = np.cumsum([0, *(part.num_logits for part in parts)])
        for i, first, last in zip(members, firsts, firsts[1:], strict=False):
            answers[i] = logits[first:last]
            asks[i].note(answers[i])
    return [answers[i] for i in range(len(asks))]


def join(feeds: Sequence[Feed]) -> Feed:
    """Return one feed of all tokens: first those whose logits nobody wants, then the others, feed after feed."""
    if len(feeds) == 1:
        return feeds[0]
    starts = np.cumsum([0, *(len(feed.tokens) for feed in feeds)])
    unwanted = [np.arange(end - feed.num_logits) for feed, end in zip(feeds, starts[1:], strict=False)]
    unwanted = [part[part >= start] for part, start in zip(unwanted, starts, strict=False)]
    wanted = [np.arange(end - feed.num_logits, end) for feed, end in zip(feeds, starts[1:], strict=False)]
    order = np.concatenate([*unwanted, *wanted])
    ends = np.concatenate([feed.ends for feed in feeds])
    visible = None
    if any(feed.visible is not None for feed in feeds):  # a tree among them: everyone says what it sees
        visible = _stack([np.arange(ends.max()) < feed.ends[:, None] if feed.visible is None else feed.visible
                          for feed in feeds])[order]  # fmt: skip
    return dataclasses.replace(
        feeds[0],
        tokens=np.concatenate([feed.tokens for feed in feeds])[order],
        positions=np.concatenate([feed.positions for feed in feeds])[order],
        pages=_stack([feed.pages for feed in feeds])[order],
        slots=np.concatenate([feed.slots for feed in feeds])[order],
        ends=ends[order],
        visible=visible,
        num_logits=sum(feed.num_logits for feed in feeds),
        spans={},
    )


def _stack(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Put matrices of different widths on top of each other, with zeros to their right."""
    width = max(part.shape[1] for part in parts)
    return np.concatenate([np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in parts])


class _Together:
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
        self.keys, self.values, self.recordings, self.store = (
            memory.keys,
            memory.values,
            memory.recordings,
            memory.store,
        )

    def extend(self, feed: Feed) -> None:
        """Count each cache's own part in."""
        for cache, part in self._parts:
            cache.extend(part)
