"""Large targets and small ones."""

from __future__ import annotations

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.verdicts import Finding, tally
from minispec.lab.roofline.counts import Storage
from minispec.lab.roofline.machine import get_profile
from minispec.lab.roofline.predict import over_batches
from minispec.lab.roofline.shapes import get_shape
from minispec.lab.viz.plots.claims import PLAIN, Chart, bars

CARD, ALPHA, GAMMA = "h100", 0.7, 4
PAIRS = (("gpt2-xl", "gpt2"), ("7b", "1b"), ("13b", "1b"), ("70b", "7b"), ("70b", "1b"), ("llama3-405b", "llama3-8b"))
CLEAR = 0.9  # a tenth less is granted as "as much"

ABOUT = About(
    title="Speculation suits very large models best",
    claim="Speculative decoding is best suited to very large models, of 70 billion parameters and more.",
    sources=("kumkar",),
    kind="computed",
    instrument="Data sheets with two perfect ceilings, pairs of published shapes at one acceptance.",
    literature="Leviathan et al. 2023: a GPT-like target of 97M with a draft of 6M has α = 0.88. EAGLE-3 (Li et al. "
    "2025) reports 4.4x for 8B, 5.5x for 13B and 4.1x for 70B targets.",
    thresholds={"clear": CLEAR, "large": 60, "alpha": ALPHA, "gamma": GAMMA},
)


def measure(setting: Setting) -> Figures:
    """Predict pairs of several sizes at one acceptance, batch 1."""
    found = []
    for target, draft in PAIRS:
        (point,) = over_batches(
            get_shape(target),
            get_profile(CARD),
            [1],
            context=512,
            storage=Storage("float16"),
            kv_bytes=2,
            gamma=GAMMA,
            alpha=ALPHA,
            draft=get_shape(draft),
        )
        found.append(
            {
                "target": target,
                "draft": draft,
                "billions": get_shape(target).num_parameters / 1e9,
                "c": point.cost_ratio,
                "speedup": point.speedup,
            }
        )
    return {"pairs": found}


def conclude(figures: Figures) -> Conclusion:
    """Each pair of a target below 70B says whether it gains clearly less than each pair of 70B or more; tallied."""
    large = [f for f in figures["pairs"] if f["billions"] > 60]
    answers = [
        small["speedup"] < CLEAR * f["speedup"] for small in figures["pairs"] if small["billions"] < 60 for f in large
    ]
    rows = [
        (f["target"], f["draft"], f"{f['billions']:.1f}B", f"{f['c']:.3f}", f"{f['speedup']:.2f}")
        for f in figures["pairs"]
    ]
    return Conclusion(
        "η = τ/(γc + v) has no size in it. Bound by memory, c is the ratio of the bytes of draft and target, and v "
        "is 1 up to the ridge, whatever the target. A large target has more room for a small c, and that is all.",
        f"Predicted on {CARD} (as many as it takes), batch 1, α = {ALPHA}, γ = {GAMMA}:"
        + table(("target", "draft", "parameters", "c", "speedup"), rows),
        Finding(
            tally(answers),
            "What counts is how much smaller the draft is. A small model with a draft of a twelfth gains as much as "
            "a large one with a draft of a tenth.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the speedups."""
    return bars(
        "Pairs of several sizes, predicted",
        "target\ndraft",
        "speedup",
        [f"{f['target']}\n{f['draft']}" for f in figures["pairs"]],
        {"formula": [f["speedup"] for f in figures["pairs"]]},
        lines=PLAIN,
    )
