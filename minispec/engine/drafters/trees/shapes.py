"""Shapes of candidate trees: fixed ones, and the best one for measured acceptances.

A shape says how many children each node gets, before any token is known; a node is known by its parent and its *rank*
among its siblings, the order in which they are tried.

Which shape is best: Sequoia (Chen et al. 2024, section 3). If a child of rank b is accepted with probability P[b]
whatever its place, a tree yields F = sum over its nodes, root included, of the product of P along the path: the
expected tokens per target pass. Sequoia finds the best tree of n nodes by a dynamic programme,

    T[n, b] = max over m of T[n - m, b - 1] + P[b] * max over j of T[m, j].

Where P does not increase with the rank, there is a shorter way: F is a sum of values that belong to the nodes, so no
tree beats the n largest values; and those *are* a tree, because a node's value is at most its parent's and at most its
elder sibling's. So take the most likely node that is left, n times.
"""

from __future__ import annotations

import heapq
import itertools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from minispec.errors import OptionError
from minispec.theory import tree_tokens

MAX_NODES = 1024
"""More candidates than a pass of any GPT-2 can pay for."""


@dataclass(frozen=True, slots=True)
class TreeShape:
    """Nodes in level order; the root is the committed text and is not among them.

    Parameters
    ----------
    parents : tuple of int, length N
        -1 for the children of the root.
    ranks : tuple of int, length N
        0 for the child that is tried first.
    """

    parents: tuple[int, ...]
    ranks: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.parents)

    @property
    def depths(self) -> tuple[int, ...]:
        """Level of each node, 1 for the children of the root."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(1 if parent < 0 else depths[parent] + 1)
        return tuple(depths)

    def expected_tokens(self, acceptance_by_rank: Sequence[float]) -> float:
        """Return F = 1 + sum over nodes of the product of acceptances along the path.

        Examples
        --------
        >>> fixed_tree((2, 1)).expected_tokens([0.6, 0.15])
        2.2
        """
        chances = [acceptance_by_rank[rank] if rank < len(acceptance_by_rank) else 0.0 for rank in self.ranks]
        return tree_tokens(self.parents, chances)


def fixed_tree(widths: Sequence[int]) -> TreeShape:
    """Return the tree whose nodes of each level have ``widths[level]`` children each.

    Raises
    ------
    OptionError
        If a width is below 1, there is none, or the tree is too large.

    Examples
    --------
    >>> fixed_tree((2, 1)).parents
    (-1, -1, 0, 1)
    """
    if not widths or min(widths) < 1:
        text = "x".join(map(str, widths))
        raise OptionError(f"tree: shape is {text!r}; each level needs at least 1 child per node. Try tree:shape=4x2x1")
    if sum(itertools.accumulate(widths, operator.mul)) >= MAX_NODES:
        raise OptionError(
            f"tree: shape is {'x'.join(map(str, widths))!r}, which has {MAX_NODES} nodes or more. Try tree:shape=4x2x1"
        )
    parents: list[int] = []
    ranks: list[int] = []
    level = [-1]
    for width in widths:
        begin = len(parents)
        parents += [parent for parent in level for _ in range(width)]
        ranks += [rank for _ in level for rank in range(width)]
        level = list(range(begin, len(parents)))
    return TreeShape(tuple(parents), tuple(ranks))


def sequoia_tree(acceptance_by_rank: Sequence[float], num_nodes: int, depth: int | None = None) -> TreeShape:
    """Return the tree of ``num_nodes`` nodes, the root counted, with the most expected tokens.

    Parameters
    ----------
    acceptance_by_rank : sequence of float
        P[b], in [0, 1], not increasing.
    num_nodes : int
        Rows of the target's forward: the pending token and ``num_nodes - 1`` candidates; fewer if ``depth`` and the
        number of ranks leave no room for all.
    depth : int, optional
        Levels below the root at most; by default no limit.

    Raises
    ------
    OptionError
        If a number is out of range, or the acceptances are not probabilities in falling order.

    Notes
    -----
    Slow twin: the dynamic programme above, in the tests.

    Examples
    --------
    >>> P = (0.6, 0.15, 0.08, 0.04)
    >>> [round(sequoia_tree(P, n).expected_tokens(P), 4) for n in (1, 2, 3, 4, 5)]
    [1.0, 1.6, 1.96, 2.176, 2.326]
    """
    ranks = tuple(float(chance) for chance in acceptance_by_rank)
    check_size(num_nodes, depth)
    if not ranks or any(not 0.0 <= b <= a <= 1.0 for a, b in itertools.pairwise((1.0, *ranks))):
        raise OptionError(
            f"tree: acceptance by rank is {'/'.join(map(str, ranks))}; it must be probabilities, none larger than the "
            "one before. Try acceptance=0.6/0.15/0.08"
        )
    taken: list[_Candidate] = []
    waiting = [_Candidate(-ranks[0], 1, (0,))]
    while waiting and len(taken) < num_nodes - 1:
        best = heapq.heappop(waiting)
        taken.append(best)
        rank, reached = best.ranks[-1], -best.minus_reached
        if depth is None or best.level < depth:
            heapq.heappush(waiting, _Candidate(-reached * ranks[0], best.level + 1, (*best.ranks, 0)))
        if rank + 1 < len(ranks):
            sibling = (*best.ranks[:-1], rank + 1)
            heapq.heappush(waiting, _Candidate(-_reach(ranks, sibling), best.level, sibling))
    paths = sorted((candidate.ranks for candidate in taken), key=lambda path: (len(path), path))  # level order
    index = {(): -1, **{path: i for i, path in enumerate(paths)}}
    return TreeShape(tuple(index[path[:-1]] for path in paths), tuple(path[-1] for path in paths))


def check_size(num_nodes: int, depth: int | None) -> None:
    """Check how many nodes, the root counted, and levels below it a tree may have.

    Raises
    ------
    OptionError
        If a number is out of range.
    """
    if not 1 <= num_nodes <= MAX_NODES:
        raise OptionError(
            f"tree: nodes is {num_nodes}; it must be from 1 to {MAX_NODES}, the root counted. Try nodes=16"
        )
    if depth is not None and depth < 1:
        raise OptionError(f"tree: depth is {depth}; there must be a level below the root. Try depth=4")


class _Candidate(NamedTuple):
    """A node that could be taken next; ordered by its chance, then shallow before deep."""

    minus_reached: float
    level: int
    ranks: tuple[int, ...]  # along the path from the root


def _reach(acceptance_by_rank: Sequence[float], path: Sequence[int]) -> float:
    return math.prod(acceptance_by_rank[rank] for rank in path)
