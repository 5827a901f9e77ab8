"""From counts to seconds: a part takes as long as its reading or its arithmetic, whichever is longer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from minispec.lab.roofline.counts import Part, Storage, count_forward, total
from minispec.lab.roofline.machine import Machine
from minispec.lab.roofline.shapes import Shape

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
