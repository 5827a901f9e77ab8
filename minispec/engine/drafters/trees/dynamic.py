"""A tree that grows where the draft is confident.

Source: EAGLE-2 (Li et al. 2024). How likely the draft holds a path, the product of its tokens' probabilities, tells how
likely the target is to accept it. So the tree is to have the N paths that the draft holds likeliest: each level is
grown after the nodes that are among the N best so far, and what better ones push out is dropped. A child's value is at
most its parent's, hence what is kept is a tree, and a node that has been pushed out never comes back.

What is lossless about it? A tree may depend on anything but on how its own tokens were drawn. With the likeliest
siblings nothing is drawn, at any temperature: each token was certain, and so says its row. Where siblings are drawn,
the value of the child of rank b is not the probability of what was drawn but the b-th largest of the row, known before
the draw; and no child pushes out its parent or an elder sibling, whose values are no smaller. (Dropping drawn tokens
for being unlikely would change the law of those that are left: the tests have that mistake.)

A rule may judge such a tree if it needs no more than the row of each token. A younger sibling is there or not by what
its elder drew, and how many are there tells something of it: K-SEQ, which divides by their number, is refused.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from minispec.engine.drafters.base import MoreTokens
from minispec.engine.drafters.trees.base import Node, Siblings, TreeDrafter, TreeSource, collect
from minispec.engine.model.asks import Asks
from minispec.engine.noise import Coins
from minispec.engine.records import Draft, Probs
from minispec.engine.sampling.draw import find_likeliest
from minispec.engine.sampling.sampler import Params


class DynamicTreeDrafter(TreeDrafter):
    """Drafts the nodes that the draft holds likeliest.

    Parameters
    ----------
    source : TreeSource
    params : SamplingParams or Sampler
    num_nodes : int
        Candidates, N.
    depth : int, optional
        Levels at most; by default as many as are asked for.
    siblings, num_slots
        See :class:`TreeDrafter`.
    """

    def __init__(
        self,
        source: TreeSource,
        params: Params,
        num_nodes: int,
        siblings: Siblings = "without replacement",
        *,
        depth: int | None = None,
        num_slots: int,
    ) -> None:
        super().__init__(source, params, siblings, num_slots=num_slots)
        self._num_nodes = num_nodes
        self.depth = depth

    has_independent_siblings = False  # the children of one push out its younger siblings, or do not

    @property
    def num_nodes(self) -> int:
        """The candidates that are kept."""
        return self._num_nodes

    def count_fed(self, gamma: int) -> int:
        """Count those that are pushed out later too: of a level's nodes, each has a parent on every level above."""
        levels = gamma if self.depth is None else min(gamma, self.depth)
        return sum(max(self._num_nodes - level, 0) for level in range(levels - 1))

    def propose(self, tokens: Sequence[int], gamma: int, coins: Coins, more: MoreTokens) -> Asks[Draft]:
        """Draft at most ``gamma`` levels, and no more nodes than fit."""
        levels, room = self.source.find_room(len(tokens))
        depth = min(gamma, levels, gamma if self.depth is None else self.depth)
        size = min(room, self._num_slots - len(tokens), self._num_nodes)
        nodes: list[Node] = []
        growing, num_drawn = ([Node()] if depth > 0 and size > 0 else []), 0
        while growing:
            rows = yield from self._look(tokens, growing)
            offers = [(node, probs) for node, probs in zip(growing, rows, strict=False) if more(probs)]
            # of the children, by rank
            values = [node.value * probs[find_likeliest(probs, size)] for node, probs in offers]
            kept, widths = _keep_best(nodes, values, size)
            grown: list[Node] = []
            for (node, probs), width, ranked in zip(offers, widths, values, strict=True):
                children = self._branch(node, probs, range(num_drawn, num_drawn + width), coins)
                for child, value in zip(children, ranked.tolist(), strict=False):
                    child.value = value
                num_drawn += width
                grown += children
            nodes = kept + grown
            reached = grown[0].path if grown else ()
            growing = grown if len(reached) < depth and self._num_fed + len(grown) <= room else []
        return collect(nodes)


def _keep_best(nodes: Sequence[Node], offers: Sequence[Probs], size: int) -> tuple[list[Node], list[int]]:
    """Choose the nodes of largest value among those there are and those on offer; of equals, those that came first.

    Returns
    -------
    kept : list of Node
    widths : list of int
        How many of each offer are taken, its largest.
    """
    values = np.concatenate([[node.value for node in nodes], *offers])
    best = sorted(heapq.nlargest(size, np.flatnonzero(values > 0.0).tolist(), key=values.__getitem__))
    bounds = np.cumsum([len(nodes), *(len(offer) for offer in offers)])  # where each offer begins, and the last ends
    return [nodes[i] for i in best if i < len(nodes)], np.diff(np.searchsorted(best, bounds)).tolist()
