"""Prediction against measurement: a model's forwards beside a read probe of the same footprint, in turns."""

from __future__ import annotations

import dataclasses
import functools
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from minispec.engine.backends.base import Backend
from minispec.engine.backends.formats import AUTO, ITEM_BYTES
from minispec.engine.model import GPT2, GPT2Config
from minispec.engine.model.weights import build_weights, expected_shapes
from minispec.errors import OptionError
from minispec.lab.roofline.counter import RegionCounter, TimingBackend, part_names, storage_of
from minispec.lab.roofline.counts import Part, Storage, count_forward
from minispec.lab.roofline.kernels import KINDS, kernel_timers, part_rates
from minispec.lab.roofline.machine import Machine
from minispec.lab.roofline.predict import Prediction, predict
from minispec.lab.roofline.shapes import Shape
from minispec.lab.timer import after_warming, interleave, ratios, spread
from minispec.lab.trust import doubts

PROBE = "probe"


@dataclass(frozen=True, slots=True)
class Measured:
    """Forwards over some rows: measured, predicted, and their floor, all from the same rounds.

    Attributes
    ----------
    rows : int
    seconds : float
        Median.
    spread : tuple of float
        Smallest and largest.
    floor : Prediction
        With the machine's ceilings, the median bandwidth of the rounds, and nothing else: no program is faster.
    prediction : Prediction
        With what the kernels reach in place of the peak, and the measured overhead of the calls.
    floor_ratio, ratio : float
        Median over the rounds of measured / floor and of measured / predicted, each round with its own ceilings.
    verify_cost : float
        v(m): median over the rounds of this time / that of one row.
    """

    rows: int
    seconds: float
    spread: tuple[float, float]
    floor: Prediction
    prediction: Prediction
    floor_ratio: float
    ratio: float
    verify_cost: float


def doubts_of_forwards(measured: Sequence[Measured]) -> list[str]:
    """Return why these times cannot be trusted (:mod:`minispec.lab.trust`)."""
    return doubts(
        spreads={f"{m.rows} row{'s' if m.rows > 1 else ''}": m.spread for m in measured},
        verify_costs={m.rows: m.verify_cost for m in measured},
    )


def model_storage(model: GPT2) -> Storage:
    """Return how a loaded model's weights are kept."""
    return storage_of(model.backend, model.dtype)


def count_model(model: GPT2, rows: int, context: int, *, num_logits: int | None = None) -> tuple[Part, ...]:
    """Return the parts of a forward of a loaded model: see :func:`~.counts.count_forward`."""
    return count_forward(
        Shape.from_config(model.config, model.name),
        rows,
        context,
        storage=model_storage(model),
        activation=model.config.activation_function,
        kv_bytes=ITEM_BYTES[model.kv_dtype],
        num_logits=num_logits,
    )


def random_model(
    config: GPT2Config, backend: Backend, dtype: str = "float32", name: str = "random", kv_dtype: str = AUTO
) -> GPT2:
    """Return a model of that config with random weights: as fast as a trained one, and it says nothing."""
    generator = np.random.default_rng(0)

    def read(tensor: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        shape = next(shape for known, shape in expected_shapes(config) if known == tensor)
        if "ln_" in tensor:
            return np.full(shape, 1.0 if tensor.endswith("weight") else 0.0, np.float32)
        return generator.standard_normal(shape, np.float32) * np.float32(0.02)

    return GPT2(name, config, build_weights(read, config, backend, dtype), backend, None, dtype, kv_dtype)


def empty_model(model: GPT2) -> GPT2:
    """Return a model with as many layers and calls, and next to nothing to read or compute in them."""
    sizes = {"vocab_size": 64, "n_embd": 2, "n_head": 1, "n_inner": 2}
    config = GPT2Config(
        vocab_size=sizes["vocab_size"],
        n_positions=model.config.n_positions,
        n_embd=sizes["n_embd"],
        n_layer=model.config.n_layer,
        n_head=sizes["n_head"],
        n_inner=sizes["n_inner"],
        activation_function=model.config.activation_function,
    )
    return random_model(config, model.backend, model.dtype, "empty", model.kv_dtype)


def fit_positions(n_positions: int, context: int, rows: int) -> tuple[int, int]:
    """Return a context and rows that fit so many positions: the rows asked for, unless they alone are too many.

    Examples
    --------
    >>> fit_positions(1024, 2000, 9), fit_positions(1024, 0, 5000), fit_positions(1024, 256, 5000)
    ((1015, 9), (0, 1024), (256, 768))
    """
    if rows <= n_positions:
        return n_positions - rows, rows
    kept = min(context, n_positions // 2)
    return kept, n_positions - kept


def check_positions(model: GPT2, rows: Sequence[int], context: int) -> None:
    """Refuse a context, and rows after it, for which a model has too few positions.

    Raises
    ------
    OptionError
        If it has.
    """
    most = max(rows)
    longest = context + most
    if longest > model.n_positions:
        fitting, fewer = fit_positions(model.n_positions, context, most)
        way_out = f"--context {fitting // 2}" if fewer == most else f"--rows {fewer} --context {fitting}"
        raise OptionError(
            f"rows {min(rows)} to {most} after a context of {context} need positions 0 to {longest - 1}; "
            f"{model.name} has {model.n_positions}. Try {way_out}"
        )


def forward_timers(
    model: GPT2,
    rows: Sequence[int],
    context: int,
    *,
    forwards: int = 3,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[int, Callable[[], float]]:
    """Return a timer per number of rows, all on one cache.

    Each runs a forward over its rows behind ``context`` cached tokens ``1 + forwards`` times and returns the median
    seconds of all but the first, which finds the caches as another contender left them.

    Raises
    ------
    OptionError
        If context and rows do not fit the model.
    """
    if min(rows) < 1 or context < 0:
        raise OptionError(f"rows are {list(rows)} after a context of {context}; a forward has at least one row. Try 1")
    check_positions(model, rows, context)
    session = model.session()
    tokens = [(31 * i + 7) % model.vocab_size for i in range(context + max(rows))]
    session.prefill(tokens[:context])

    def once(count: int) -> float:
        started = clock()
        session.score(tokens[context : context + count])
        seconds = clock() - started
        session.rollback(context)
        return seconds

    return {count: after_warming(functools.partial(once, count), forwards) for count in rows}


def measure_forwards(
    model: GPT2,
    machine: Machine,
    rows: Sequence[int] = tuple(range(1, 10)),
    context: int = 256,
    repeats: int = 7,
    *,
    clock: Callable[[], float] = time.perf_counter,
    probe: Callable[[int], Callable[[], float]] | None = None,
) -> list[Measured]:
    """Measure forwards over each number of rows and relate them to their floor.

    Parameters
    ----------
    model : GPT2
    machine : Machine
        This one, as measured; its ladder serves for activations, and for nothing else: the bandwidth of weights and
        cache is probed in every round.
    rows : sequence of int
        Must contain 1.
    context, repeats : int
    clock : callable
    probe : callable, optional
        As for :func:`~.machine.measure_ladder`.

    Returns
    -------
    list of Measured
        In the order of ``rows``.
    """
    if 1 not in rows:
        raise OptionError(f"rows are {list(rows)}; v(m) compares with 1 row, so 1 must be among them")
    check_positions(model, rows, context)
    if probe is None:
        from minispec.engine.backends.probe import ReadProbe  # imports Numba

        probe = ReadProbe
    counts = {m: count_model(model, m, context) for m in rows}
    footprint = sum(part.streamed_bytes for part in counts[1])
    contenders: dict[str, Callable[[], float]] = {PROBE: after_warming(probe(footprint))}
    contenders |= {f"empty {m}": run for m, run in forward_timers(empty_model(model), rows, 0, clock=clock).items()}
    contenders |= {f"rows {m}": run for m, run in forward_timers(model, rows, context, clock=clock).items()}
    timers = kernel_timers(model, rows, context, footprint, clock=clock)
    contenders |= {f"{kind} {m}": run for (kind, m), run in timers.items()}
    figures = interleave(contenders, repeats)

    def relate(m: int) -> Measured:
        times = figures[f"rows {m}"]

        def floor(bandwidth: float) -> Prediction:
            return predict(counts[m], machine, model.dtype, rows=m, context=context, bandwidth=bandwidth)

        def expect(bandwidth: float, seconds: Mapping[str, float]) -> Prediction:
            rates = part_rates(
                {kind: seconds[f"{kind} {m}"] for kind in set(KINDS.values())}, machine.peak(model.dtype)
            )
            return predict(
                counts[m],
                machine,
                model.dtype,
                rows=m,
                context=context,
                bandwidth=bandwidth,
                rates=rates,
                overhead_s=seconds[f"empty {m}"],
            )

        middle = {name: statistics.median(values) for name, values in figures.items()}
        rounds = [dict(zip(figures, values, strict=True)) for values in zip(*figures.values(), strict=True)]

        return Measured(
            rows=m,
            seconds=statistics.median(times),
            spread=spread(times),
            floor=floor(footprint / middle[PROBE]),
            prediction=expect(footprint / middle[PROBE], middle),
            floor_ratio=statistics.median(
                ratios(times, [floor(footprint / one[PROBE]).seconds for one in rounds]),
            ),
            ratio=statistics.median(
                ratios(times, [expect(footprint / one[PROBE], one).seconds for one in rounds]),
            ),
            verify_cost=statistics.median(ratios(times, figures["rows 1"])),
        )

    return [relate(m) for m in rows]


def time_parts(model: GPT2, rows: int, context: int, forwards: int = 7) -> Mapping[str, float]:
    """Measure where a forward's time goes: median seconds per part, by timing every call of the backend.

    A fused norm or activation is part of the matrix it is fused with. What the parts leave of the whole forward
    (``other``) is Python, the cache, and moving activations about.
    """
    timing = TimingBackend(model.backend, part_names(model.weights))
    watched = dataclasses.replace(model, backend=timing)
    run = forward_timers(watched, [rows], context, forwards=1)[rows]
    samples: list[dict[str, float]] = []
    for _ in range(forwards):
        timing.seconds.clear()
        whole = run()
        parts = {name: seconds / 2 for name, seconds in timing.seconds.items()}  # of the warming forward and the timed
        samples.append(parts | {"other": max(0.0, whole - sum(parts.values()))})
    return {name: statistics.median(sample[name] for sample in samples) for name in samples[0]}


def count_regions(model: GPT2, rows: int, context: int) -> int | None:
    """Count the parallel regions of a forward, in the threads allowed now; None for a backend that does not tell."""
    from minispec.engine.backends.panel import PanelBackend  # imports Numba

    if not isinstance(model.backend, PanelBackend):
        return None
    counter = RegionCounter(model.backend, part_names(model.weights))
    session = dataclasses.replace(model, backend=counter).session()
    tokens = [(31 * i + 7) % model.vocab_size for i in range(context + rows)]
    session.prefill(tokens[:context])
    counter.regions = 0
    session.score(tokens[context:])
    return counter.regions
