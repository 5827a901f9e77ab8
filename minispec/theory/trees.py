"""The expected tokens of a tree of candidates, and of chains that are accepted independently of each other.

A tree's speedup is :func:`~.walltime.speedup` with gamma = its levels and v = v(its rows).
"""

from __future__ import annotations

from collections.abc import Sequence

from minispec.errors import OptionError
from minispec.theory import _checks


def tree_reach(parents: Sequence[int], chances: Sequence[float]) -> list[float]:
    """Return for each node the probability that verification keeps it: the product of the chances along its path.

    Parameters
    ----------
    parents : sequence of int, length N
        In an order that puts parents first; -1 for the children of the root (the committed text).
    chances : sequence of float, length N
        The probability that the node is the one accepted, given that its parent is. At most one of them is, so among
        siblings they add up to at most 1; this is not checked.

    Examples
    --------
    >>> tree_reach([-1, -1, 0], [0.5, 0.25, 0.5])
    [0.5, 0.25, 0.25]
    """
    if len(parents) != len(chances):
        raise OptionError(f"{len(parents)} parents, {len(chances)} chances; each node has one of each; make them agree")
    reached: list[float] = []
    for i, (parent, chance) in enumerate(zip(parents, _checks.probabilities("chance", chances), strict=True)):
        if not -1 <= parent < i:
            raise OptionError(f"parents[{i}] is {parent}; a parent comes before its children; put nodes in level order")
        # reach(node) = reach(parent) * chance(node)
        reached.append(chance * (1.0 if parent < 0 else reached[parent]))
    return reached


def tree_tokens(parents: Sequence[int], chances: Sequence[float]) -> float:
    """Return the expected tokens per target pass of a tree, F = 1 + sum over nodes of the path's product.

    Parameters
    ----------
    parents, chances
        As in :func:`tree_reach`.

    Notes
    -----
    Chen et al. 2024, "Sequoia", section 3, where the chance of a node is P[its rank among its siblings]; exact for any
    chances, because accepted nodes form a path and its length is a sum of indicators, one per node. A chain gives
    :func:`~.tokens.tau_by_position`.

    Examples
    --------
    Two candidates, and one after the first:

    >>> tree_tokens([-1, -1, 0], [0.6, 0.15, 0.6])
    2.11
    """
    # F = 1 + sum_node reach(node)
    return 1.0 + sum(tree_reach(parents, chances))


def chains_tokens(alpha: float, gamma: int, num_chains: int) -> float:
    """Return the expected tokens per target pass of the best of several chains, were their fates independent.

    Parameters
    ----------
    alpha : float
    gamma : int
        Drafted tokens of each chain.
    num_chains : int
        b, at least 1.

    Notes
    -----
    P(none of b chains has i accepted) = (1 - alpha**i)**b (Fu et al. 2024, "Lookahead decoding"). That is the right
    answer for chains that are right or wrong by themselves, as guesses of a greedy target are. It is not what sampling
    gives, however independent the chains are drawn: a token that the draft favours too much is accepted less often the
    second time. One position's true limit is :func:`~.candidates.optimal_acceptance`, which may be below or above 1 -
    (1 - alpha)**b, and the rules stay below that.

    Examples
    --------
    >>> [round(chains_tokens(0.7, 5, b), 3) for b in (1, 2, 4, 8)]
    [2.941, 3.949, 4.925, 5.62]
    """
    alpha, gamma = _checks.probability("alpha", alpha), _checks.drafts(gamma)
    b = _checks.whole("the number of chains", num_chains, 1, 2**31, "one chain is plain speculation")
    # 1 + sum_{i=1..gamma} (1 - (1 - alpha**i)**b)
    return 1.0 + sum(1.0 - (1.0 - alpha**i) ** b for i in range(1, gamma + 1))
