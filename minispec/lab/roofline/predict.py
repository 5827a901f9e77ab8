"""From counts to seconds: a part takes as long as its reading or its arithmetic, whichever is longer; and what if."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from minispec.lab.roofline.counts import Part, Storage, count_forward, total
from minispec.lab.roofline.machine import Machine
from minispec.lab.roofline.memory import cache_bytes, weights_bytes
from minispec.lab.roofline.shapes import Shape
from minispec.theory import speedup, tau

Bound = Literal["memory", "compute"]


@dataclass(frozen=True, slots=True)
class PartTime:
    """A part of the forward and the time it must at least take.

    Attributes
    ----------
    part : Part
    memory_s : float
        Reading: weights and cache at the bandwidth of the whole step's footprint, activations at that of their own.
    compute_s : float
        Arithmetic at the machine's peak, or at what the kernel reaches.
    """

    part: Part
    memory_s: float
    compute_s: float

    @property
    def seconds(self) -> float:
        """The longer of the two; both go on at once."""
        return max(self.memory_s, self.compute_s)

    @property
    def bound(self) -> Bound:
        """Which it is."""
        return "memory" if self.memory_s >= self.compute_s else "compute"


@dataclass(frozen=True, slots=True)
class Prediction:
    """The floor under a forward.

    Attributes
    ----------
    rows, batch, context : int
    footprint_bytes : int
        What every such forward reads again: weights and cache.
    bandwidth_bytes_per_s, peak_flops_per_s : float
        The ceilings that apply.
    parts : tuple of PartTime
    overhead_s : float
        Everything that neither reads nor computes: calls, barriers.
    """

    rows: int
    batch: int
    context: int
    footprint_bytes: int
    bandwidth_bytes_per_s: float
    peak_flops_per_s: float
    parts: tuple[PartTime, ...]
    overhead_s: float = 0.0

    @property
    def floor_s(self) -> float:
        """The parts' times, added up."""
        return sum(part.seconds for part in self.parts)

    @property
    def seconds(self) -> float:
        """Floor and overhead."""
        return self.floor_s + self.overhead_s

    @property
    def whole(self) -> Part:
        """The counts, added up."""
        return total(part.part for part in self.parts)

    @property
    def intensity(self) -> float:
        """Operations per streamed byte: where the forward stands on the roofline."""
        return self.whole.flops / self.footprint_bytes

    @property
    def ridge(self) -> float:
        """Operations per byte at which both ceilings meet."""
        return self.peak_flops_per_s / self.bandwidth_bytes_per_s

    @property
    def bound(self) -> Bound:
        """What takes more of the time."""
        memory = sum(part.seconds for part in self.parts if part.bound == "memory")
        return "memory" if 2 * memory >= self.floor_s else "compute"


def predict(
    parts: Sequence[Part],
    machine: Machine,
    dtype: str,
    *,
    rows: int,
    batch: int = 1,
    context: int = 0,
    bandwidth: float | None = None,
    rates: Mapping[str, float] | None = None,
    overhead_s: float = 0.0,
) -> Prediction:
    """Predict the time of a forward.

    Parameters
    ----------
    parts : sequence of Part
        From :func:`~minispec.lab.roofline.counts.count_forward`.
    machine : Machine
    dtype : str
        In what the weights are kept.
    rows, batch, context : int
        Those of the count, for the record.
    bandwidth : float, optional
        Bytes per second at this footprint as probed just now; the machine's ladder by default.
    rates : mapping, optional
        Operations per second by part, where a kernel is known to reach less than the machine's peak.
    overhead_s : float

    Notes
    -----
    t = sum over parts of max(streamed / bw(footprint) + local / bw(local), flops / rate) + overhead.
    """
    footprint = sum(part.streamed_bytes for part in parts)
    bandwidth = machine.bandwidth(footprint) if bandwidth is None else bandwidth
    peak = machine.peak(dtype)

    def time_part(part: Part) -> PartTime:
        near = part.local_bytes / part.calls if part.calls else 0.0
        reading = part.streamed_bytes / bandwidth
        if near:
            reading += part.local_bytes / max(bandwidth, machine.bandwidth(near))
        return PartTime(part, reading, part.flops / (rates or {}).get(part.name, peak))

    return Prediction(
        rows=rows,
        batch=batch,
        context=context,
        footprint_bytes=footprint,
        bandwidth_bytes_per_s=bandwidth,
        peak_flops_per_s=peak,
        parts=tuple(time_part(part) for part in parts),
        overhead_s=overhead_s,
    )


def predict_forward(
    shape: Shape,
    machine: Machine,
    rows: int,
    context: int,
    *,
    batch: int = 1,
    storage: Storage | None = None,
    activation: str = "gelu_new",
    kv_bytes: int = 4,
) -> Prediction:
    """Count a forward and predict its time; the parameters are those of the two functions above."""
    storage = storage or Storage()
    parts = count_forward(shape, rows, context, batch=batch, storage=storage, activation=activation, kv_bytes=kv_bytes)
    return predict(parts, machine, storage.dtype, rows=rows, batch=batch, context=context)


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

    >>> from minispec.lab.roofline.machine import get_profile
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
