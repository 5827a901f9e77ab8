"""A tree whose shape is known before any token: several guesses at each position, level by level."""

from __future__ import annotations

from collections.abc import Sequence

from minispec.engine.drafters.base import MoreTokens
from minispec.engine.drafters.trees.base import Node, Siblings, TreeDrafter, TreeSource, collect
from minispec.engine.drafters.trees.shapes import TreeShape
from minispec.engine.model.asks import Asks
from minispec.engine.noise import Coins
from minispec.engine.records import Draft
from minispec.engine.sampling.sampler import Params


class FixedTreeDrafter(TreeDrafter):
    """Drafts a tree of a given shape.

    Parameters
    ----------
    source : TreeSource
    params : SamplingParams or Sampler
    shape : TreeShape
    siblings, num_slots
        See :class:`TreeDrafter`.
    """

    def __init__(
        self,
        source: TreeSource,
        params: Params,
        shape: TreeShape,
        siblings: Siblings = "without replacement",
        *,
        num_slots: int,
    ) -> None:
        super().__init__(source, params, siblings, num_slots=num_slots)
        self.shape = shape

    @property
    def has_independent_siblings(self) -> bool:
        """True of siblings drawn with replacement: the shape is known before any token."""
        return self.siblings == "with replacement"

    @property
    def num_nodes(self) -> int:
        """The candidates of the shape."""
        return len(self.shape)

    def count_fed(self, gamma: int) -> int:
        """Count the parents above the last level."""
        parents = {
            parent for parent, level in zip(self.shape.parents, self.shape.depths, strict=True) if level <= gamma
        }
        return len(parents - {-1})

    def propose(self, tokens: Sequence[int], gamma: int, coins: Coins, more: MoreTokens) -> Asks[Draft]:
        """Draft the shape, at most ``gamma`` levels of it, and no more than fits, whatever the tokens are."""
        levels, room = self.source.find_room(len(tokens))
        depth = min(gamma, levels)
        size = min(room, self._num_slots - len(tokens), sum(level <= depth for level in self.shape.depths))
        children: dict[int, list[int]] = {}
        for number, parent in enumerate(self.shape.parents[: max(size, 0)]):
            children.setdefault(parent, []).append(number)
        nodes: list[Node] = []
        growing = [Node()] if depth > 0 and size > 0 else []
        while growing:
            rows = yield from self._look(tokens, growing)
            grown: list[Node] = []
            for node, probs in zip(growing, rows, strict=False):
                if more(probs):
                    grown += self._branch(node, probs, children[node.number], coins)
            nodes += grown
            growing = [node for node in grown if node.number in children]
        return collect(nodes)
