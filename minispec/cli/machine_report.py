"""A machine, its ceilings and forwards on it, as tables and JSON: shared by ``roofline`` and ``bench``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from minispec.lab.roofline.forwards import Measured
from minispec.lab.roofline.machine import Machine
from minispec.lab.roofline.predict import Prediction
from minispec.lab.viz.terminal import QUIET

QUICK_LADDER = (1 << 20, 16 << 20, 64 << 20)
"""Footprints for a first impression."""


def stdout() -> Console:
    """Return where tables go: as wide as they are where no terminal sets a width."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=120)


def table(*headings: str) -> Table:
    """Return an empty table: names on the left, figures on the right."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="left" if number == 0 else "right", header_style=QUIET, no_wrap=True)
    return table


def has_room(out: Console) -> bool:
    """Return whether there is room for the spread beside each median; figures are never cut."""
    return out.width >= 100


def time(seconds: float) -> str:
    """Show seconds as µs or ms."""
    return f"{1e6 * seconds:.0f} µs" if seconds < 1e-3 else f"{1e3 * seconds:.2f} ms"


def size(num_bytes: float) -> str:
    """Show bytes in decimal units."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if num_bytes >= factor:
            return f"{num_bytes / factor:.3g} {unit}"
    return f"{num_bytes:.0f} B"


def describe_pair(pair: dict[str, str]) -> str:
    """Name a target and its draft, with the number formats of both, and what computes them."""
    return (
        f"{pair['target']} in {pair['dtype']}, draft {pair['draft']} in {pair['draft_dtype']},\nkeys and values in "
        f"{pair['kv_dtype']}, backend {pair['backend']}"
    )


def print_machine(out: Console, facts: dict[str, Any], machine: Machine, dtype: str) -> None:
    """Print what was measured on what, and its two ceilings."""
    out.print(", ".join(f"{name} {value}" for name, value in facts.items()))
    rungs = "  ".join(f"{size(rung)}: {speed / 1e9:.0f}" for rung, speed in machine.ladder)
    out.print(f"read bandwidth, GB/s   {rungs}")
    out.print(f"matrix product         {machine.peak(dtype) / 1e9:.0f} GFLOP/s, float32, NumPy's BLAS\n")


def machine_facts(machine: Machine) -> dict[str, Any]:
    """Return ceilings as JSON-able data."""
    return {
        "name": machine.name,
        "source": machine.source,
        "memory_bytes": machine.memory_bytes,
        "read_bytes_per_s": {str(rung): speed for rung, speed in machine.ladder},
        "peak_flops_per_s": dict(machine.peak_flops_per_s),
    }


def measured_facts(m: Measured) -> dict[str, Any]:
    """Return a measured forward as JSON-able data."""
    return {
        "rows": m.rows, "seconds": m.seconds, "spread_s": m.spread, "floor_s": m.floor.seconds,
        "predicted_s": m.prediction.seconds, "overhead_s": m.prediction.overhead_s,
        "measured_over_predicted": m.ratio, "measured_over_floor": m.floor_ratio, "verify_cost": m.verify_cost,
        "bound": m.floor.bound, "bandwidth_bytes_per_s": m.floor.bandwidth_bytes_per_s,
        "peak_flops_per_s": m.floor.peak_flops_per_s, "footprint_bytes": m.floor.footprint_bytes,
        "flops_per_byte": m.floor.intensity, "ridge": m.floor.ridge, "parts": _part_facts(m.floor),
    }  # fmt: skip


def _part_facts(prediction: Prediction) -> list[dict[str, Any]]:
    return [
        asdict(part.part) | {"floor_s": part.seconds, "bound": part.bound, "flops_per_byte": part.part.intensity}
        for part in prediction.parts
    ]
