"""What machines can compute per byte, and what decoding computes."""

from __future__ import annotations

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.verdicts import Finding, tally
from minispec.lab.roofline.counts import Storage, count_forward
from minispec.lab.roofline.machine import PROFILES
from minispec.lab.roofline.shapes import get_shape
from minispec.lab.viz.plots.claims import Chart, bars

CARDS = ("a100", "h100", "h200", "l4", "rtx3090", "rtx4090")
HUNDREDS, HANDFUL = 100.0, 10.0
SHAPE = "70b"

ABOUT = About(
    title="Hundreds of operations per byte, and decoding does a handful",
    claim="Modern GPUs can do hundreds of arithmetic operations per byte they read; autoregressive decoding does a "
    "handful.",
    sources=("pan-streaming", "pan-practice"),
    kind="computed",
    instrument="Data sheets, and a count of the pass from its shape.",
    literature="Williams, Waterman and Patterson 2009 for the ridge; the makers' data sheets for its numbers.",
    thresholds={"hundreds": HUNDREDS, "handful": HANDFUL, "cards": CARDS},
)


def measure(setting: Setting) -> Figures:
    """Divide the two ceilings of each card; count a decoding pass of 70B in 16 bits."""
    parts = count_forward(get_shape(SHAPE), 1, 512, storage=Storage("float16"), kv_bytes=2)
    done = sum(p.flops for p in parts) / sum(p.weight_bytes + p.cache_bytes for p in parts)
    return {
        "cards": {name: PROFILES[name].peak("float16") / PROFILES[name].bandwidth(1) for name in CARDS},
        "decoding": done,
    }


def conclude(figures: Figures) -> Conclusion:
    """Each card says whether it does a hundred operations per byte, decoding whether it does at most ten; tallied."""
    answers = [ridge >= HUNDREDS for ridge in figures["cards"].values()]
    rows = [(name, f"{ridge:.0f}") for name, ridge in figures["cards"].items()]
    return Conclusion(
        "A weight of s bytes takes part in one multiplication and one addition per token: 2/s operations per byte, 1 "
        "in 16 bits.",
        "Operations per byte in 16 bits, by data sheets:"
        + table(("card", "peak / bandwidth"), rows)
        + f"\n\nDecoding one token of {SHAPE} in 16 bits: {figures['decoding']:.1f}.",
        Finding(
            tally([*answers, figures["decoding"] <= HANDFUL]),
            "True of cards made for data centres, with decoding at one operation per byte rather than a handful; a "
            "consumer card may have less than a hundred.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the ridges."""
    return bars(
        "Operations per byte, 16 bits",
        "card",
        "operations per byte read",
        list(figures["cards"]),
        {"data sheet": list(figures["cards"].values())},
        lines=(("decoding one token", figures["decoding"]), ("“hundreds”", HUNDREDS)),
    )
