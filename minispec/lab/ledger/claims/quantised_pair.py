"""Smaller numbers for both models."""

from __future__ import annotations

from typing import Any

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.instruments import alpha, time_texts
from minispec.lab.ledger.runs import DRAFT, TARGET, model, of_each_kind
from minispec.lab.ledger.verdicts import Finding, Interval, above, tally
from minispec.lab.viz.plots.claims import Chart, bars

PAIRS = (("float32", "float32"), ("bfloat16", "bfloat16"), ("float32", "int8"), ("int8", "int8"))
GAMMA = 3
JUDGED = 2  # intervals

ABOUT = About(
    title="Quantise both models to verify faster",
    claim="Quantising draft and target (to FP8 or INT8) relieves the memory bandwidth and speeds verification up.",
    sources=("kumkar",),
    kind="timed",
    instrument="The bundled pair with weights kept in several formats, by whatever kernels this version has for them.",
    literature="Zhang et al. 2025 (2505.22179): EAGLE-2 on 4-bit targets; what the smaller weights save, the time of "
    "verifying a tree takes back.",
    thresholds={"faster": 1.0, "gamma": GAMMA},
)


def measure(setting: Setting) -> Figures:
    """Time pairs whose weights are kept in several formats, in turns; count acceptance."""
    scale = setting.scale
    texts, tokens = of_each_kind(scale.timed), scale.tokens
    plain: dict[str, dict[str, Any]] = {
        "plain float32": {"draft": None},
        "plain int8": {"target": model(TARGET, "int8"), "draft": None},
    }
    options: dict[str, dict[str, Any]] = {
        f"{t} / {d}": {"target": model(TARGET, t), "draft": model(DRAFT, d), "gamma": GAMMA} for t, d in PAIRS
    }
    times = time_texts({**plain, **options}, texts, tokens, scale.text_rounds)
    return {
        "pairs": [
            {
                "pair": name,
                "alpha": alpha(times.metrics[name]),
                "over_plain": times.faster("plain float32", name),
                "over_pair": times.faster("float32 / float32", name, JUDGED),
            }
            for name in options
        ],
        "plain_int8": times.faster("plain float32", "plain int8"),
        "over_plain_int8": times.faster("plain int8", "int8 / int8", JUDGED),
    }


def conclude(figures: Figures) -> Conclusion:
    """Tally two answers: is the int8 pair faster than the float32 pair, and than plain decoding in int8."""
    both = next(f for f in figures["pairs"] if f["pair"] == "int8 / int8")
    rows = [(f["pair"], f["alpha"], f["over_plain"], f["over_pair"]) for f in figures["pairs"]]
    return Conclusion(
        "Where the bytes of the weights decide, a quarter of the bytes is up to a fourfold speed, for the plain "
        "target as well. c, a ratio, hardly changes; but where the arithmetic stays what it was, the rows that are "
        "verified for free become a quarter too, v grows, and speculation gains less on top. Rounding the draft "
        "moves q and costs acceptance; rounding the target changes what is to be matched.",
        f"Target / draft formats, γ = {GAMMA}, temperature 1, one set of texts:"
        + table(("formats", "α", "faster than plain float32", "faster than the float32 pair"), rows)
        + f"\n\nPlain decoding in int8: {Interval(*figures['plain_int8'])} times plain float32.",
        Finding(
            tally([above(both["over_pair"], 1.0), above(figures["over_plain_int8"], 1.0)]),
            f"Both in int8 are {both['over_pair'][0]:.2f} times as fast as both in float32, with an α of "
            f"{both['alpha'][0]:.2f} instead of {figures['pairs'][0]['alpha'][0]:.2f}. But plain int8 decoding gains "
            f"as well: against it the int8 pair is {Interval(*figures['over_plain_int8'])} times as fast. Both spend "
            "the same idle arithmetic, so their gains do not multiply. Speed needs kernels that read the small format; "
            "the text is then that of the rounded target.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw speed by formats."""
    return bars(
        "Formats of target / draft",
        "formats",
        "speedup over plain float32",
        [f["pair"] for f in figures["pairs"]],
        {"speculative": [f["over_plain"] for f in figures["pairs"]]},
        lines=(("plain float32", 1.0), ("plain int8", figures["plain_int8"][0])),
    )
