"""How often the target keeps a first, second, third choice: what the shape of a tree is made for."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable

from minispec.engine.records import Step


def acceptance_by_rank(steps: Iterable[Step]) -> tuple[float, ...]:
    """Return P of Sequoia (Chen et al. 2024): the share of nodes whose child of rank b the target went on with.

    Parameters
    ----------
    steps : iterable of Step
        Steps without a tree are left out.

    Returns
    -------
    tuple of float
        P[b] over the nodes that the target reached and that have such a child; up to the highest rank that any has.
        None is larger than the one before, as ``tree:shape=sequoia,acceptance=`` asks: what chance adds is cut.

    Examples
    --------
    Two children of the root in each of four steps; twice the first was kept, once the second, once neither:

    >>> from minispec.engine.records import Verdict
    >>> def step(*path):
    ...     return Step(0, 0, (5, 6), Verdict(len(path), 9, "recovered", path=path), (), (), draft_parents=(-1, -1))
    >>> acceptance_by_rank([step(0), step(0), step(1), step()])
    (0.5, 0.25)
    """
    kept, offered = Counter[int](), Counter[int]()
    for step in steps:
        parents = step.draft_parents
        if parents is None:
            continue
        path = step.verdict.accepted
        for node, child in itertools.zip_longest((-1, *path), path):
            children = [i for i, parent in enumerate(parents) if parent == node]
            offered.update(range(len(children)))
            kept.update([] if child is None else [children.index(child)])
    shares = (kept[rank] / offered[rank] for rank in range(len(offered)))
    return tuple(itertools.accumulate(shares, min))
