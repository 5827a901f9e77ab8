"""What if: a target and a draft of known shapes on a known machine, over batch sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minispec.lab.memory import cache_bytes, weights_bytes
from minispec.lab.roofline.counts import Storage
from minispec.lab.roofline.machine import Machine
from minispec.lab.roofline.shapes import Shape
from minispec.lab.roofline.time import Bound, predict_forward
from minispec.theory import speedup, tau


@dataclass(frozen=True, slots=True)
class BatchPoint:
    """One batch size on one machine: the least time each forward can take, and what follows for speculation.

    Attributes
    ----------
    batch : int
    step_s, verify_s : float
        A target forward over one row, and over gamma + 1 rows, of every sequence.
    draft_s : float or None
        A draft forward over one row of every sequence; None without a draft.
    bound : {"memory", "compute"}
        Of the verifying forward.
    tokens_per_s : float
        Plain decoding, all sequences together.
    verify_cost, cost_ratio : float
        v(gamma + 1) and c at this batch.
    speedup : float or None
        tau / (gamma c + v), independent acceptance; None without a draft.
    weights_bytes, cache_bytes : int
        Of target and draft, and of both caches at this context.
    fits : bool or None
        Whether they fit the machine; None if its memory is unknown.
    """

    batch: int
    step_s: float
    verify_s: float
    draft_s: float | None
    bound: Bound
    tokens_per_s: float
    verify_cost: float
    cost_ratio: float | None
    speedup: float | None
    weights_bytes: int
    cache_bytes: int
    fits: bool | None


def over_batches(
    target: Shape,
    machine: Machine,
    batches: Sequence[int],
    *,
    context: int,
    storage: Storage,
    kv_bytes: int,
    gamma: int,
    alpha: float,
    draft: Shape | None = None,
    draft_storage: Storage | None = None,
) -> list[BatchPoint]:
    """Predict each batch size.

    Parameters
    ----------
    target, draft : Shape
    machine : Machine
    batches : sequence of int
    context : int
        Tokens in the cache, of every sequence.
    storage, draft_storage : Storage
        How they keep their weights; the draft as the target does unless told.
    kv_bytes : int
        Bytes per number of the caches.
    gamma : int
    alpha : float
        Acceptance per evaluated position.

    Examples
    --------
    Does a 70B model in float16 fit an A100, and how fast could it be?

    >>> from minispec.lab.roofline.profiles import get_profile
    >>> from minispec.lab.roofline.shapes import get_shape
    >>> (one,) = over_batches(get_shape("70b"), get_profile("a100"), [1], context=1000, storage=Storage("float16"),
    ...     kv_bytes=2, gamma=4, alpha=0.7)
    >>> one.fits, round(one.tokens_per_s, 1)
    (False, 14.8)
    """
    of_draft = draft_storage or storage
    weights = weights_bytes(target, storage) + (weights_bytes(draft, of_draft) if draft else 0)

    def seconds(shape: Shape, rows: int, batch: int, kept: Storage = storage) -> tuple[float, Bound]:
        predicted = predict_forward(shape, machine, rows, context, batch=batch, storage=kept, kv_bytes=kv_bytes)
        return predicted.seconds, predicted.bound

    def point(batch: int) -> BatchPoint:
        step, _ = seconds(target, 1, batch)
        verify, bound = seconds(target, gamma + 1, batch)
        drafting = seconds(draft, 1, batch, of_draft)[0] if draft else None
        cost_ratio = None if drafting is None else drafting / step
        caches = sum(cache_bytes(shape, context, batch, kv_bytes) for shape in (target, draft) if shape)
        return BatchPoint(
            batch=batch,
            step_s=step,
            verify_s=verify,
            draft_s=drafting,
            bound=bound,
            tokens_per_s=batch / step,
            verify_cost=verify / step,
            cost_ratio=cost_ratio,
            speedup=None if cost_ratio is None else speedup(tau(alpha, gamma), gamma, cost_ratio, verify / step),
            weights_bytes=weights,
            cache_bytes=caches,
            fits=None if machine.memory_bytes is None else weights + caches <= machine.memory_bytes,
        )

    return [point(batch) for batch in batches]
