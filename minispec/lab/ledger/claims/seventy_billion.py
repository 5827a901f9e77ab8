"""A 70B model on one A100."""

from __future__ import annotations

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.verdicts import Finding, tally
from minispec.lab.roofline.machine import PROFILES
from minispec.lab.viz.plots.claims import Chart, bars

PARAMETERS = 70e9
CARD = PROFILES["a100"]
"""A100 80 GB SXM by its data sheet."""
FORMATS = {"16 bit": 2.0, "8 bit": 1.0, "4 bit": 0.5}
LOW, HIGH = 30.0, 50.0
REACHED = 0.7  # of the bandwidth, by good kernels

ABOUT = About(
    title="A 70B model gives 30–50 tokens a second on one A100",
    claim="A 70B model on a single A100 generates some 30 to 50 tokens a second, held back by the serial "
    "sampling loop and not by arithmetic.",
    sources=("nikolatesla",),
    kind="computed",
    instrument="Arithmetic from the card's data sheet.",
    literature="NVIDIA's A100 data sheet (2021) gives the ceilings; no paper needed.",
    thresholds={"low": LOW, "high": HIGH, "reached": REACHED, "parameters": PARAMETERS},
)


def measure(setting: Setting) -> Figures:
    """Divide the bandwidth by the bytes of the weights."""
    bandwidth, peak = CARD.bandwidth(PARAMETERS), CARD.peak_flops_per_s["bfloat16"]
    return {
        "formats": [
            {
                "format": name,
                "gigabytes": PARAMETERS * size / 1e9,
                "fits": PARAMETERS * size < (CARD.memory_bytes or 0),
                "ceiling": bandwidth / (PARAMETERS * size),
                "likely": REACHED * bandwidth / (PARAMETERS * size),
            }
            for name, size in FORMATS.items()
        ],
        "arithmetic": peak / (2 * PARAMETERS),
    }


def conclude(figures: Figures) -> Conclusion:
    """Each format says whether it fits and 70 to 100 % of the bandwidth meets 30 to 50; tallied."""
    answers = [f["fits"] and f["ceiling"] >= LOW and f["likely"] <= HIGH for f in figures["formats"]]
    rows = [
        (
            f["format"],
            f"{f['gigabytes']:.0f} GB",
            "yes" if f["fits"] else "no",
            f"{f['likely']:.0f} to {f['ceiling']:.0f}",
        )
        for f in figures["formats"]
    ]
    return Conclusion(
        "One token reads every weight once: tokens/s ≤ bandwidth / bytes of the weights."
        + table(("weights", "size", "fits into 80 GB", "tokens/s, 70 to 100 % of the bandwidth"), rows),
        f"Nothing: there is no such card here. The arithmetic alone would allow {figures['arithmetic']:.0f} tokens/s, "
        "so the claim that arithmetic is not the limit is right by one to two orders of magnitude; but what limits is "
        "the reading of the weights, not the sampling loop as such.",
        Finding(
            tally(answers),
            "It depends on the number format. In 16 bits the model does not fit on one card at all; in 8 bits the "
            "ceiling lies just below the claimed range, and no room is left for long caches; in 4 bits the range is "
            "about right.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the ceilings."""
    found = figures["formats"]
    return bars(
        "70B parameters on an A100 80 GB",
        "weights",
        "tokens per second",
        [f["format"] + ("" if f["fits"] else "\n(does not fit)") for f in found],
        {"ceiling": [f["ceiling"] for f in found], "70 % of it": [f["likely"] for f in found]},
        bands=(("claimed", LOW, HIGH),),
    )
