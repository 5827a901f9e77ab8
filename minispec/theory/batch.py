"""Batches: how far verification is free, and where speculation stops paying. The roofline, with two ceilings.

A pass over t rows of weights takes the time to read the weights, or that of its arithmetic, whichever is longer;
they are equal at t = B0, the ridge. A verifying pass for B sequences has t = B (gamma + 1) rows. Not counted, except in
:func:`read_cost_ratio`: the attention over the cached context (its intensity does not grow with B), and kernels that
reach neither ceiling. Measure v first.
"""

from __future__ import annotations

from collections.abc import Callable

from minispec.theory import _checks
from minispec.theory.acceptance import tau

_ROWS = "it counts rows of one forward"


def ridge_tokens(peak_flops_per_s: float, bandwidth_bytes_per_s: float, bytes_per_weight: float) -> float:
    """Return B0, the rows at which a pass's arithmetic takes as long as reading its weights.

    Parameters
    ----------
    peak_flops_per_s : float
        Operations per second of a large matrix product.
    bandwidth_bytes_per_s : float
        Bytes per second of a long read.
    bytes_per_weight : float
        4 for float32, 2 for bfloat16.

    Notes
    -----
    A weight costs s bytes once and 2 operations per row: t rows have 2 t / s operations per byte, and the ridge is
    where that is peak / bandwidth.

    Examples
    --------
    An H100 by its data sheet, and a CPU of 400 GFLOP/s and 40 GB/s in float32:

    >>> round(ridge_tokens(989e12, 3.35e12, 2)), ridge_tokens(400e9, 40e9, 4)
    (295, 20.0)
    """
    peak = _checks.above_zero("peak", peak_flops_per_s, "it is operations per second")
    bandwidth = _checks.above_zero("bandwidth", bandwidth_bytes_per_s, "it is bytes per second")
    size = _checks.above_zero("bytes per weight", bytes_per_weight, "4 for float32")
    # B0 = peak / bandwidth * s / 2
    return peak / bandwidth * size / 2


def free_batch(gamma: int, ridge: float) -> float:
    """Return the largest batch for which verification costs no more than one token: B (gamma + 1) <= B0.

    Examples
    --------
    >>> free_batch(4, 295.0)
    59.0
    """
    # B = B0 / (gamma + 1)
    return _checks.above_zero("ridge", ridge, _ROWS) / (_checks.drafts(gamma) + 1)


def roofline_verify_cost(batch: float, ridge: float) -> Callable[[float], float]:
    """Return the function m -> v(m) at a batch size, for the ``verify_cost`` of every other formula.

    Parameters
    ----------
    batch : float
        B, sequences that are decoded together.
    ridge : float
        B0, from :func:`ridge_tokens` or measured.

    Notes
    -----
    In units of a pass over one row for each of the B sequences, v(m) = max(1, B m / B0) / max(1, B / B0). The cost
    ratio c of the draft must be that of the same batch. From B = B0 on, v(m) = m: then the speedup is below 1 for every
    alpha < 1, as tau < gamma + 1.

    Examples
    --------
    >>> from minispec.theory import best_gamma
    >>> [best_gamma(0.7, 0.05, roofline_verify_cost(batch, 295.0)).gamma for batch in (1, 64, 128, 256)]
    [6, 3, 1, 0]
    """
    batch = _checks.above_zero("batch", batch, "one sequence is 1")
    ridge = _checks.above_zero("ridge", ridge, _ROWS)

    def verify_cost(rows: float) -> float:
        # max(1, B m / B0) / max(1, B / B0)
        return max(1.0, batch * rows / ridge) / max(1.0, batch / ridge)

    return verify_cost


def read_cost_ratio(
    context: float, batch: float, draft_reads: tuple[float, float], target_reads: tuple[float, float]
) -> float:
    """Return c at a context length, where both models wait for memory: what one reads per token over the other.

    Parameters
    ----------
    context : float
        S, tokens in the caches of each sequence.
    batch : float
        B, sequences that are decoded together.
    draft_reads, target_reads : tuple of float
        Bytes of the model's weights, read once per pass, and bytes of its cache per token of the context.

    Notes
    -----
    c(S) = (W_d + B S k_d) / (W_t + B S k_t): from W_d / W_t without a context to k_d / k_t, which is larger, as caches
    differ less than weights. So a constant c is wrong for long contexts and large batches; a draft with a cache of
    bounded length (Sadhukhan et al. 2025, "MagicDec") keeps B S k_d from growing.

    Examples
    --------
    A 1B draft of a 70B target in 16 bits, 64 sequences (32 kB and 320 kB of cache per token):

    >>> reads = (2.5e9, 32_768.0), (141.1e9, 327_680.0)
    >>> [round(read_cost_ratio(context, 64, *reads), 3) for context in (0, 512, 8192, 32768)]
    [0.018, 0.024, 0.063, 0.086]
    """
    tokens = _checks.at_least("context", context, 0, "it is tokens") * _checks.above_zero("batch", batch, "1 is one")
    sums = []
    for name, (weights, cache) in (("draft", draft_reads), ("target", target_reads)):
        known = _checks.at_least(f"the {name}'s weights", weights, 0, "they are bytes")
        sums.append(known + tokens * _checks.at_least(f"the {name}'s cache", cache, 0, "it is bytes per token"))
    # (W_d + B S k_d) / (W_t + B S k_t)
    return sums[0] / _checks.above_zero("what the target reads", sums[1], "it has weights")


def batch_break_even(alpha: float, gamma: int, cost_ratio: float, ridge: float) -> float | None:
    """Return B1, the batch from which on drafts of ``gamma`` tokens no longer pay.

    Parameters
    ----------
    alpha : float
    gamma : int
        At least 1.
    cost_ratio : float
        c, at that batch.
    ridge : float
        B0.

    Returns
    -------
    float or None
        From B0 / (gamma + 1) to B0: below 1 they pay at no whole batch, None at none even with rows for free.

    Notes
    -----
    Between B0 / (gamma + 1) and B0 the speedup is tau / ((gamma + 1) B / B0 + gamma c). Without a context: a long one
    adds reads that more rows do not repeat, which lets verification be free for longer, and raises c
    (:func:`read_cost_ratio`).

    Examples
    --------
    >>> round(batch_break_even(0.7, 4, cost_ratio=0.05, ridge=295.0))
    152
    """
    gamma, cost = _checks.drafts(gamma, low=1), _checks.cost("cost ratio", cost_ratio)
    gain = tau(alpha, gamma) - gamma * cost
    # B1 = B0 (tau - gamma c) / (gamma + 1), and tau - gamma c > 1 where speculation pays at all
    return _checks.above_zero("ridge", ridge, _ROWS) * gain / (gamma + 1) if gain > 1.0 else None
