"""Well-known machines by their public figures: for "what if this were an H100", not for measurements.

A profile is two ceilings: peak rate and peak bandwidth. No program reaches both; what a profile predicts is the least
time a forward can take there. Rates are dense ones (data sheets print twice as much for structured sparsity). Weights
in int8 are taken to be decoded and multiplied in float16, as weight-only quantisation does; its peak is float16's.
"""

from __future__ import annotations

import difflib

from minispec.errors import OptionError, quote
from minispec.lab.roofline.machine import Machine

_TERA, _GIGA = 1e12, 1e9


def _machine(
    name: str, bandwidth_gb: float, memory_gb: float, half_tflops: float, single_tflops: float, source: str
) -> Machine:
    peaks = dict.fromkeys(("float16", "bfloat16", "int8"), half_tflops * _TERA)
    return Machine(
        name=name,
        ladder=[(1, bandwidth_gb * _GIGA)],
        peak_flops_per_s={"float32": single_tflops * _TERA, **peaks},
        memory_bytes=int(memory_gb * _GIGA),
        source=source,
    )


PROFILES: dict[str, Machine] = {
    machine.name: machine
    for machine in (
        _machine("a100", 2039, 80, 312, 19.5, "NVIDIA A100 80GB SXM data sheet"),
        _machine("a100-40gb", 1555, 40, 312, 19.5, "NVIDIA A100 40GB SXM data sheet"),
        _machine("h100", 3350, 80, 989.4, 67, "NVIDIA H100 SXM data sheet"),
        _machine("h200", 4800, 141, 989.4, 67, "NVIDIA H200 SXM data sheet"),
        _machine("l4", 300, 24, 121, 30.3, "NVIDIA L4 data sheet; half of the rate printed with sparsity"),
        _machine("rtx3090", 936, 24, 71, 35.6, "NVIDIA GA102 white paper; float16 with float32 accumulation"),
        _machine("rtx4090", 1008, 24, 165.2, 82.6, "NVIDIA Ada white paper; float16 with float32 accumulation"),
        _machine("tpu-v4", 1200, 32, 275, 275, "Google Cloud TPU v4 page; bfloat16 products, also for float32"),
        _machine("m2-max", 400, 96, 13.6, 13.6, "Apple: 400 GB/s, 96 GB; 38 GPU cores, rate as widely reported"),
        _machine(
            "ddr5-desktop",
            89.6,
            64,
            2.3,
            2.3,
            "computed: two channels of DDR5-5600; 16 cores x 32 operations per cycle x 4.5 GHz, in float32",
        ),
        _machine(
            "epyc-9654",
            460.8,
            768,
            7.4,
            7.4,
            "computed: twelve channels of DDR5-4800; 96 cores x 32 operations per cycle x 2.4 GHz, in float32",
        ),
    )
}
"""Machines by name."""


def get_profile(name: str) -> Machine:
    """Return the machine of that name.

    Raises
    ------
    OptionError
        If there is none.
    """
    if name not in PROFILES:
        close = difflib.get_close_matches(name, PROFILES, n=1)
        hint = f"Did you mean {close[0]!r}?" if close else "Leave --machine out to measure this one"
        raise OptionError(f"machine is {quote(name)}; it must be one of {', '.join(PROFILES)}. {hint}")
    return PROFILES[name]
