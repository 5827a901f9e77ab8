"""Speculation and the bandwidth of the memory."""

from __future__ import annotations

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.verdicts import Finding, tally
from minispec.lab.roofline.counts import Storage
from minispec.lab.roofline.machine import Machine, get_profile
from minispec.lab.roofline.predict import over_batches
from minispec.lab.roofline.shapes import get_shape
from minispec.lab.viz.plots.claims import PLAIN, Chart, Curve
from minispec.theory import tau

CARD, PAIR = "h100", ("70b", "1b")
ALPHA, GAMMA, CONTEXT = 0.7, 4, 512
BATCHES, FACTORS = (1, 32, 128), (0.5, 1.0, 2.0, 4.0)

ABOUT = About(
    title="Speculation spends bandwidth, and gains most where there is much of it",
    claim="Speculative decoding trades more memory bandwidth for less latency, and benefits most from hardware with "
    "high memory bandwidth.",
    sources=("kumkar",),
    kind="computed",
    instrument="A data sheet with two perfect ceilings, of which one is moved.",
    literature="Leviathan et al. 2023, section 3.4: reads of the target's weights shrink by the tokens per step. "
    "Williams, Waterman and Patterson 2009 for the ridge.",
    thresholds={"reads": 1.0, "factors": FACTORS, "batches": BATCHES, "alpha": ALPHA, "gamma": GAMMA},
)


def measure(setting: Setting) -> Figures:
    """Predict one card with more and with less bandwidth, its arithmetic unchanged; count what a token reads."""
    card = get_profile(CARD)
    target, draft = (get_shape(name) for name in PAIR)
    speedups = {}
    for factor in FACTORS:
        peak = card.peak("float16")
        machine = Machine(
            name=f"{CARD} x {factor}",
            ladder=[(1, factor * card.bandwidth(1))],
            peak_flops_per_s={"float16": peak},
            memory_bytes=None,
            source="what if",
        )
        points = over_batches(
            target,
            machine,
            BATCHES,
            context=CONTEXT,
            storage=Storage("float16"),
            kv_bytes=2,
            gamma=GAMMA,
            alpha=ALPHA,
            draft=draft,
        )
        speedups[f"{factor:g}"] = [point.speedup for point in points]
    weights = draft.num_parameters / target.num_parameters
    return {"speedups": speedups, "reads": (1 + GAMMA * weights) / tau(ALPHA, GAMMA)}


def conclude(figures: Figures) -> Conclusion:
    """Tally two answers: does a token read more than in plain decoding, does the gain grow with the bandwidth."""
    speedups = figures["speedups"]
    least, most = speedups[f"{FACTORS[0]:g}"], speedups[f"{FACTORS[-1]:g}"]
    rows = [(f"x {factor}", *(f"{value:.2f}" for value in curve)) for factor, curve in speedups.items()]
    return Conclusion(
        "A step reads the target's weights once and the draft's γ times, and yields τ tokens: (1 + γ W_d/W_t)/τ of "
        f"what plain decoding reads per token, {figures['reads']:.2f} at α = {ALPHA}, γ = {GAMMA} and a draft of 1B "
        "for 70B. What is spent is arithmetic. Verification is free up to peak/bandwidth rows, so more bandwidth at "
        "the same peak leaves fewer.",
        f"Predicted speedups of an {CARD.upper()} with its bandwidth changed, {PAIR[1]} for {PAIR[0]}, contexts of "
        f"{CONTEXT}:" + table(("bandwidth", *(f"batch {b}" for b in BATCHES)), rows),
        Finding(
            tally([figures["reads"] > 1.0, sum(most) > sum(least)]),
            "It is the other way round on both counts. Speculation trades arithmetic for fewer reads, and gains most "
            "where bandwidth is scarce for the arithmetic there is: the ridge decides, not the bandwidth.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the speedups by bandwidth."""
    return Chart(
        "The same card with more bandwidth",
        "bandwidth, times that of an H100",
        "speedup",
        tuple(
            Curve(f"batch {batch}", FACTORS, [curve[i] for curve in figures["speedups"].values()])
            for i, batch in enumerate(BATCHES)
        ),
        lines=PLAIN,
        log_x=True,
    )
