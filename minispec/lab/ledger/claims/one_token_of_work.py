"""The arithmetic of verification."""

from __future__ import annotations

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.verdicts import Finding, tally
from minispec.lab.roofline.counts import Storage, count_forward
from minispec.lab.roofline.shapes import get_shape
from minispec.lab.viz.plots.claims import Chart, Curve
from minispec.theory import operations_factor

SHAPE, CONTEXT = "70b", 512
GAMMAS = (1, 2, 4, 8)
SIMILAR = 1.5

ABOUT = About(
    title="Verifying a draft is computationally similar to one token",
    claim="The verifying pass is computationally similar to processing a single token.",
    sources=("kumkar",),
    kind="computed",
    instrument="Operations and bytes counted from the shapes; a backend that counts its calls agrees with the "
    "formulas.",
    literature="Leviathan et al. 2023, theorem 3.11 and table 1: 1.23 to 1.63 times the operations at α = 0.8.",
    thresholds={"similar": SIMILAR, "gammas": GAMMAS},
)


def measure(setting: Setting) -> Figures:
    """Count operations and bytes of verifying passes, and of whole steps per token."""
    shape = get_shape(SHAPE)

    def count(rows: int) -> tuple[int, int]:
        parts = count_forward(shape, rows, CONTEXT, storage=Storage("float16"), kv_bytes=2)
        return sum(p.flops for p in parts), sum(p.weight_bytes + p.cache_bytes for p in parts)

    one = count(1)
    found = []
    for gamma in GAMMAS:
        operations, read = count(gamma + 1)
        found.append(
            {
                "gamma": gamma,
                "operations": operations / one[0],
                "bytes": read / one[1],
                "per_token": operations_factor(0.8, gamma, 0.02),
            }
        )
    return {"cases": found}


def conclude(figures: Figures) -> Conclusion:
    """Each draft length says whether a verifying pass computes at most half more than one token; tallied."""
    rows = [
        (f["gamma"], f"{f['operations']:.2f}", f"{f['bytes']:.2f}", f"{f['per_token']:.2f}") for f in figures["cases"]
    ]
    return Conclusion(
        "γ + 1 rows are γ + 1 times the operations, and the weights are read once: it is the bytes that are similar. "
        "Per emitted token speculation always computes more, (γĉ + γ + 1)/τ ≥ 1.",
        f"A pass over γ + 1 rows over one of one row, {SHAPE}, {CONTEXT} tokens in the cache; and the operations "
        "per emitted token over plain decoding's at α = 0.8, ĉ = 0.02:"
        + table(("γ", "operations", "bytes read", "operations per token"), rows),
        Finding(
            tally([f["operations"] <= SIMILAR for f in figures["cases"]]),
            "Computationally it is γ + 1 tokens. What it shares with one token is the reading, and the time only as "
            "long as reading decides.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw both ratios."""
    return Chart(
        "A verifying pass over one of one row",
        "γ",
        "ratio",
        (
            Curve("operations", GAMMAS, [f["operations"] for f in figures["cases"]]),
            Curve("bytes read", GAMMAS, [f["bytes"] for f in figures["cases"]]),
        ),
        lines=(("one token", 1.0),),
    )
