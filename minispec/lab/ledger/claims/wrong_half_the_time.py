"""A draft that is wrong half the time."""

from __future__ import annotations

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.instruments import estimate_speedup, flat
from minispec.lab.ledger.runs import synthetic
from minispec.lab.ledger.verdicts import Finding, below, tally
from minispec.lab.viz.plots.claims import PLAIN, Chart, bars
from minispec.theory import best_gamma

COSTS = ((0.02, 1.0), (0.05, 1.0), (0.1, 1.0), (0.2, 1.0), (0.2, 1.5), (0.5, 1.0))
WORTH = 1.05  # less than five per cent is theatre

ABOUT = About(
    title="A draft that is wrong half the time is theatre",
    claim="As a rule of thumb, a draft that is wrong half of the time brings nothing but the show of speed.",
    sources=("day-05",),
    kind="counted",
    instrument="The engine with a synthetic draft of α = 0.5 everywhere, at the draft length each pair of costs "
    "asks for.",
    literature="Leviathan et al. 2023, corollary 3.9: α = 0.5 gains if c < 0.5. The lowest α of a model in their "
    "table 2 is 0.53, and it comes with 2.3x.",
    thresholds={"worth": WORTH, "costs": COSTS},
)


def measure(setting: Setting) -> Figures:
    """Decode with alpha 0.5 at the draft length that each pair of costs asks for (at least 1)."""
    found = []
    for c, v in COSTS:
        gamma = max(1, best_gamma(0.5, c, v).gamma)
        texts = synthetic(0.5, gamma, setting.scale)
        speedup = estimate_speedup(texts, c, flat(v), of=len(COSTS))
        found.append({"c": c, "v": v, "gamma": gamma, "formula": best_gamma(0.5, c, v).speedup, "speedup": speedup})
    return {"costs": found}


def conclude(figures: Figures) -> Conclusion:
    """Each pair of costs says whether the gain stays below five per cent; the tally is the verdict."""
    answers = [below(f["speedup"], WORTH) for f in figures["costs"]]
    rows = [(f["c"], f["v"], f["gamma"], f"{f['formula']:.2f}", f["speedup"]) for f in figures["costs"]]
    best = max(figures["costs"], key=lambda f: f["speedup"][0])
    return Conclusion(
        "At α = 0.5 a step of γ drafts yields 2 − 2^−γ tokens, less than 2. What is left of that depends on c and v; "
        "with v = 1 some γ gains whenever c < 0.5.",
        "The engine with a draft of α = 0.5:" + table(("c", "v", "γ", "formula, best γ or plain", "charged"), rows),
        Finding(
            tally(answers),
            f"It depends on what the draft costs. At c = {best['c']} being wrong half the time still gives "
            f"{best['formula']:.2f}x by the formula; it is theatre when a draft costs a fifth of a target token and "
            "checking is not free, or from c ≈ 0.5 on.",
        ),
        [f["speedup"] for f in figures["costs"]],
    )


def chart(figures: Figures) -> Chart:
    """Draw a bar for each pair of costs."""
    found = figures["costs"]
    return bars(
        "A draft of α = 0.5",
        "costs of a draft token and of verification",
        "speedup, charged",
        [f"c {f['c']}, v {f['v']}" for f in found],
        {"measured": [f["speedup"] for f in found]},
        lines=PLAIN,
    )
