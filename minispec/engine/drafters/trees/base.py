"""What all trees share: how siblings are chosen, and the interface that returns the distribution after a node.

Sources: SpecInfer (Miao et al. 2023) and SpecTr (Sun et al. 2023) draw siblings independently, *with* replacement;
Sequoia (Chen et al. 2024) draws them *without*, so that a sibling never repeats a token that was just rejected; EAGLE
and Medusa take the likeliest tokens, which draws nothing. Each candidate carries the row it was really drawn from: the
draft's row, the row that was left when its turn came, or a one-hot row. The verifying rule needs no more.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

import numpy as np

from minispec.engine.backends.base import Array
from minispec.engine.drafters.base import MoreTokens, Slots
from minispec.engine.drafters.ngram import one_hot
from minispec.engine.model.asks import Asks
from minispec.engine.model.session import Session
from minispec.engine.noise import Coins
from minispec.engine.records import Draft, Probs
from minispec.engine.sampling.draw import find_likeliest
from minispec.engine.sampling.sampler import Params, Sampler, make_sampler

Siblings = Literal["with replacement", "without replacement", "likeliest"]


class TreeSource(Protocol):
    """Knows what may come next, at the end of the text and at each node of a tree that hangs on it."""

    def prefill(self, tokens: Sequence[int]) -> Asks[None] | None:
        """Take in committed tokens, before the first tree; with passes, as a generator of asks."""
        ...

    def find_room(self, length: int) -> tuple[int, int]:
        """Return how many levels, and how many nodes, it can draft after a text of ``length`` tokens."""
        ...

    def count_slots(self, length: int, num_fed: int) -> int:
        """Return the most slots that it fills with a text of ``length`` tokens and the nodes it is given to grow."""
        ...

    def begin(self, tokens: Sequence[int]) -> Asks[Array]:
        """Begin a tree, and return the logits of what follows the committed ``tokens``: (1, V), or (0, V) for none."""
        ...

    def grow(self, nodes: Sequence[int], parents: Sequence[int]) -> Asks[Array]:
        """Add nodes to the tree, and return the logits of what follows each, (N, V).

        Parameters
        ----------
        nodes : sequence of int, length N
            Their tokens.
        parents : sequence of int, length N
            The node each one follows, counted from the first that was added; -1 for the end of the text.
        """
        ...

    def rollback(self, length: int) -> None:
        """Forget whatever lies beyond the first ``length`` tokens."""
        ...


@dataclass(slots=True, eq=False)
class Node:
    """A candidate of a tree that is being drafted; the root stands for the committed text.

    Attributes
    ----------
    number : int
        What tells it from the other nodes: its place in a shape, or how many were drawn before it; -1 is the root.
    path : tuple of int
        The tokens from the root to the node, its own last.
    parent : Node or None
    probs : ndarray of shape (V,)
        What its token was drawn from.
    value : float
        How likely the draft holds the path to it.
    fed : int
        Its number among the nodes that the source was given.
    """

    number: int = -1
    path: tuple[int, ...] = ()
    parent: Node | None = None
    probs: Probs = field(default_factory=lambda: np.zeros(0))
    value: float = 1.0
    fed: int = -1


class TreeDrafter:
    """Drafts a tree; its subclass says which nodes get how many children.

    Parameters
    ----------
    source : TreeSource
    params : SamplingParams or Sampler
    siblings : {"without replacement", "with replacement", "likeliest"}
        How the children of a node are chosen. The likeliest are those of the draft's own distribution: at temperature 0
        the sampled one has a single token, and nothing is lost by guessing at more.
    num_slots : int
        Slots of the *target's* cache: near the end of its context a tree is cut to what fits next to the text.
    """

    def __init__(
        self, source: TreeSource, params: Params, siblings: Siblings = "without replacement", *, num_slots: int
    ) -> None:
        self.source = source
        self.siblings = siblings
        sampler = make_sampler(params)
        self._sampler = _flatten(sampler) if siblings == "likeliest" else sampler
        self._num_slots = num_slots
        self._num_fed = 0

    is_tree = True

    @property
    @abstractmethod
    def has_independent_siblings(self) -> bool:
        """Whether the siblings are drawn independently, and none is there or not by what another one drew."""

    @property
    def session(self) -> Session | None:
        """The session of the draft model or of the head, where there is one."""
        return getattr(self.source, "session", None)

    def prefill(self, tokens: Sequence[int]) -> Asks[None] | None:
        """Take in the prompt."""
        return self.source.prefill(tokens)

    @property
    @abstractmethod
    def num_nodes(self) -> int:
        """The most candidates of a draft."""

    @abstractmethod
    def count_fed(self, gamma: int) -> int:
        """Return the most nodes that the source is given for a draft of ``gamma`` levels: each that gets children."""

    def count_slots(self, tokens: Sequence[int], length: int, gamma: int) -> Slots:
        """Return the slots of the text and of the candidates, or of the nodes that are fed."""
        num_nodes = self.num_nodes if gamma else 0
        return Slots(length + num_nodes, self.source.count_slots(length, self.count_fed(gamma)))

    @abstractmethod
    def propose(self, tokens: Sequence[int], gamma: int, coins: Coins, more: MoreTokens) -> Asks[Draft]:
        """Draft at most ``gamma`` levels, and no more nodes than fit; ``more`` is asked before a node gets children."""

    def rollback(self, length: int) -> None:
        """Set the text back."""
        self.source.rollback(length)

    def _look(self, tokens: Sequence[int], nodes: Sequence[Node]) -> Asks[Sequence[Probs]]:
        """Return the distributions of what follows the committed text, or each of some nodes."""
        if nodes[0].parent is None:
            self._num_fed = 0
            logits = yield from self.source.begin(tokens)
        else:
            for node in nodes:
                node.fed, self._num_fed = self._num_fed, self._num_fed + 1
            parents = [node.parent.fed for node in nodes if node.parent is not None]
            logits = yield from self.source.grow([node.path[-1] for node in nodes], parents)
        return list(self._sampler.rows(logits, ([*tokens, *node.path] for node in nodes[: len(logits)])))

    def _branch(self, node: Node, probs: Probs, numbers: Sequence[int], coins: Coins) -> list[Node]:
        """Give a node children, each with a token and what it was drawn from; fewer where the support is used up."""
        if self.siblings == "likeliest":
            tokens = [token for token in find_likeliest(probs, len(numbers)).tolist() if probs[token] > 0.0]
            chosen = list(zip(tokens, one_hot(tokens, len(probs)), strict=True))
        else:
            chosen = self._draw(probs, numbers, coins, len(node.path))
        return [
            Node(number, (*node.path, token), node, row) for number, (token, row) in zip(numbers, chosen, strict=False)
        ]

    def _draw(self, probs: Probs, numbers: Sequence[int], coins: Coins, level: int) -> list[tuple[int, Probs]]:
        """Draw tokens one after the other, each with the row that was left when its turn came."""
        drawn: list[tuple[int, Probs]] = []
        left = probs
        for number in numbers:
            token = coins.draft(level, left, node=number)
            drawn.append((token, left))
            if self.siblings == "without replacement":
                left = left.copy()
                left[token] = 0.0
                if not left.any():
                    break
                left /= left.sum()
        return drawn


def collect(nodes: Sequence[Node]) -> Draft:
    """Return the draft of nodes of which each comes after its parent."""
    places = {id(node): i for i, node in enumerate(nodes)}
    parents = tuple(places.get(id(node.parent), -1) for node in nodes)
    rows = np.asarray([node.probs for node in nodes]) if nodes else np.zeros((0, 0))
    return Draft(tuple(node.path[-1] for node in nodes), rows, parents)


def _flatten(sampler: Sampler) -> Sampler:
    """Return a sampler of whole distributions: no temperature and no cut, but penalties and forms as they are."""
    return replace(sampler, params=replace(sampler.params, temperature=1.0, top_k=0, top_p=1.0, min_p=0.0))
