"""When a timing cannot be trusted: one rule, for every command that prints one.

A busy machine, or a clock that was read at the wrong moment, gives figures that look like any others. Two kinds give
themselves away: runs of the same thing that lie far apart, and figures beyond a bound that holds on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping

from minispec.engine.backends.formats import ITEM_BYTES
from minispec.engine.model import GPT2
from minispec.engine.model.weights import num_parameters

UNSTEADY = 1.8
"""The slowest of several runs of one thing / the fastest, from which on something else was running."""
ROUNDING = 0.05
"""How far beyond a bound a median of few runs may lie on a quiet machine."""
CACHE_GAIN = 6.0
"""How many times as fast a cache is read as memory, at most; a draft may lie in the one, its target in the other."""


def doubts(
    *,
    spreads: Mapping[str, tuple[float, float]] | None = None,
    verify_costs: Mapping[int, float] | Mapping[float, float] | Mapping[str, float] | None = None,
    cost_ratio: float | None = None,
    least_cost_ratio: float = 0.0,
    speedups: Mapping[str, tuple[float, float]] | None = None,
) -> list[str]:
    """Return why figures cannot be trusted, a line each; nothing if there is no reason known.

    Parameters
    ----------
    spreads : mapping of str to tuple of float
        What was measured several times, with the least and the largest result.
    verify_costs : mapping of float or str to float
        v by rows, or by what was run in words. A forward over more rows does all that one over a single row does.
    cost_ratio, least_cost_ratio : float
        c, and what the bytes of the two models allow (:func:`least_cost_ratio`).
    speedups : mapping of str to tuple of float
        Speedups with the tokens per step. A step takes as long as a plain one or longer, so tau is a bound; and tau is
        gamma + 1 at most.

    Examples
    --------
    >>> doubts(verify_costs={6: 1.3}, cost_ratio=0.1, speedups={"measured": (1.7, 3.4)})
    []
    >>> doubts(verify_costs={6: 0.62})
    ['v(6) is 0.62: a forward over more rows cannot be cheaper than one over a single row']
    """
    found = []
    for what, (low, high) in (spreads or {}).items():
        if low > 0.0 and high / low > UNSTEADY:
            found.append(f"{what}: the slowest run took {high / low:.1f} times as long as the fastest")
    for rows, cost in (verify_costs or {}).items():
        if cost < 1.0 - ROUNDING:
            what = rows if isinstance(rows, str) else f"{rows:g}"
            found.append(
                f"v({what}) is {cost:.2f}: a forward over more rows cannot be cheaper than one over a single row"
            )
    if cost_ratio is not None and cost_ratio < least_cost_ratio:
        found.append(
            f"c is {cost_ratio:.3f}: reading the draft's bytes takes {least_cost_ratio:.3f} of the target's at least"
        )
    for what, (speedup, tau) in (speedups or {}).items():
        if speedup > tau * (1.0 + ROUNDING):
            found.append(f"{what} speedup {speedup:.2f}x: {tau:.2f} tokens per step allow no more than that many times")
    return found


def least_cost_ratio(target: object, draft: object) -> float:
    """Return the least c that the bytes of target and draft allow; 0 where one of them is no model with weights."""
    if not (isinstance(target, GPT2) and isinstance(draft, GPT2)):
        return 0.0
    read = [num_parameters(model.config) * ITEM_BYTES[model.dtype] for model in (draft, target)]
    return read[0] / read[1] / CACHE_GAIN


def sentence(found: list[str]) -> str:
    """Return doubts as what a table ends with."""
    return f"these timings cannot be trusted ({'; '.join(found)}). Measure again when nothing else runs"
