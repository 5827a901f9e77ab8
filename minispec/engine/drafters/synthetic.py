"""A draft of any wanted quality at any wanted cost, for experiments.

It takes the target's own distribution p, from a second session, and mixes noise r into it: q = (1 - w) p + w r. Then

    acceptance = sum_x min(p, q) = 1 - TV(p, q) = 1 - w TV(p, r),

because q - p = w (r - p). So w = (1 - alpha) / TV(p, r) makes the acceptance *exactly* alpha at every prefix: drafts
are accepted independently with one probability, which is the assumption of Leviathan's formulas, made true.

r is uniform if that is far enough from p. Otherwise r is all on p's least likely token: no distribution is farther
away. If even that falls short (alpha < min p; so always for a vocabulary of 1), q is r and the acceptance min p, the
least possible. At temperature 0 p is one-hot and nothing changes: q keeps alpha on the right token, which the draft
then proposes with probability alpha; it is a random draft of a deterministic target.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minispec.engine.drafters.model import ModelDrafter
from minispec.engine.model.session import Session
from minispec.engine.records import Probs
from minispec.engine.sampling.sampler import Params
from minispec.errors import OptionError


def mix_to_acceptance(target_probs: Probs, alpha: float) -> Probs:
    """Return a distribution q with sum_x min(p, q) = alpha, or as near as one can come.

    Parameters
    ----------
    target_probs : ndarray of shape (V,)
    alpha : float
        In [0, 1].

    Examples
    --------
    >>> p = np.array([0.7, 0.2, 0.1])
    >>> q = mix_to_acceptance(p, 0.9)
    >>> round(float(np.minimum(p, q).sum()), 12)
    0.9
    """
    noise = np.full_like(target_probs, 1.0 / len(target_probs))
    distance = _measure_distance(target_probs, noise)
    if distance < 1.0 - alpha:
        noise = np.zeros_like(target_probs)
        noise[np.argmin(target_probs)] = 1.0
        distance = _measure_distance(target_probs, noise)
    if alpha >= 1.0 or distance == 0.0:
        return target_probs
    weight = min(1.0, (1.0 - alpha) / distance)
    return (1.0 - weight) * target_probs + weight * noise


def _measure_distance(p: Probs, q: Probs) -> float:
    return 0.5 * float(np.abs(p - q).sum())


def check_options(alpha: float, cost: float | None) -> None:
    """Check the ranges.

    Raises
    ------
    OptionError
        If alpha lies outside [0, 1] or the cost is negative.
    """
    if not 0.0 <= alpha <= 1.0:
        raise OptionError(f"synthetic: alpha is {alpha}; an acceptance probability lies in [0, 1]. Try alpha=0.7")
    if cost is not None and not 0.0 <= cost < float("inf"):
        raise OptionError(f"synthetic: cost is {cost}; a ratio of two times is >= 0. Try cost=0.05")


class SyntheticDrafter(ModelDrafter):
    """Drafts from the target's own distribution, mixed with as much noise as was asked for.

    Parameters
    ----------
    session : Session
        A second session of the *target's* model.
    params : SamplingParams or Sampler
    alpha : float
        Wanted acceptance probability.
    cost : float or None
        Time of a drafted token in units of a one-row target pass, to report instead of the real one.
    coupled : bool
        Draw with the noise of plain sampling; acceptance under a coupled rule is that rule's, not alpha.

    Attributes
    ----------
    simulated_cost : float or None
        ``cost``.

    Raises
    ------
    OptionError
        If alpha lies outside [0, 1] or the cost is negative.
    """

    def __init__(
        self,
        session: Session,
        params: Params,
        alpha: float,
        cost: float | None = None,
        *,
        coupled: bool = False,
    ) -> None:
        check_options(alpha, cost)
        super().__init__(session, params, coupled=coupled)
        self.alpha = alpha
        self.simulated_cost = cost

    def probs(self, logits: NDArray[np.float32], prefix: Sequence[int]) -> Probs:
        """Mix noise into the target's distribution."""
        return mix_to_acceptance(super().probs(logits, prefix), self.alpha)
