"""Smaller numbers for both models."""

from __future__ import annotations

from minispec.analysis.timer import interleave
from minispec.experiments.framework import Conclusion, Experiment, Figures, Setting, table
from minispec.experiments.instruments import DRAFT, TARGET, alpha, decode, model, one_of_each, ratios, seconds_per_token
from minispec.experiments.verdicts import Interval, Verdict, above, tally
from minispec.viz.plots.claims import Chart, with_errors

PAIRS = (("float32", "float32"), ("bfloat16", "bfloat16"), ("float32", "int8"), ("int8", "int8"))
GAMMA = 3


def measure(setting: Setting) -> Figures:
    """Time pairs whose weights are kept in several formats, in turns; count acceptance."""
    scale = setting.scale
    texts, tokens = one_of_each(min(2, scale.prompts)), scale.tokens // 2
    runs = {"plain float32": seconds_per_token(texts, tokens, draft=None),
            "plain int8": seconds_per_token(texts, tokens, target=model(TARGET, "int8"), draft=None)}  # fmt: skip
    options = {f"{t} / {d}": {"target": model(TARGET, t), "draft": model(DRAFT, d), "gamma": GAMMA} for t, d in PAIRS}
    runs |= {name: seconds_per_token(texts, tokens, **given) for name, given in options.items()}
    times = interleave(runs, scale.repeats)
    return {
        "pairs": [
            {
                "pair": name,
                "alpha": alpha([decode(text, scale.tokens, seed=i, **given) for i, text in enumerate(texts)]),
                "over_plain": ratios(times, "plain float32", name),
                "over_pair": ratios(times, "float32 / float32", name),
            }
            for name, given in options.items()
        ],
        "plain_int8": ratios(times, "plain float32", "plain int8"),
    }


def conclude(figures: Figures) -> Conclusion:
    """Judge: holds here if the pair with both in int8 is clearly faster than the float32 pair; false if clearly not."""
    both = next(f for f in figures["pairs"] if f["pair"] == "int8 / int8")
    rows = [
        (f["pair"], Interval(*f["alpha"]), Interval(*f["over_plain"]), Interval(*f["over_pair"]))
        for f in figures["pairs"]
    ]
    return Conclusion(
        "Where the bytes of the weights decide, a quarter of the bytes is up to a fourfold speed, for the plain "
        "target as well; then c and v, which are ratios, hardly change and neither does the speedup by speculation. "
        "Rounding the draft moves q and costs acceptance; rounding the target changes what is to be matched.",
        f"Target / draft formats, γ = {GAMMA}, temperature 1, one set of texts:"
        + table(("formats", "α", "faster than plain float32", "faster than the float32 pair"), rows)
        + f"\n\nPlain decoding in int8: {Interval(*figures['plain_int8'])} times plain float32.",
        Verdict(
            tally([above(both["over_pair"], 1.0)]),
            f"Both in int8 are {both['over_pair'][0]:.2f} times as fast as both in float32, with an α of "
            f"{both['alpha'][0]:.2f} instead of {figures['pairs'][0]['alpha'][0]:.2f}. Speed needs kernels that read "
            "the small format; the text is then that of the rounded target.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw speed by formats."""
    return Chart(
        "Formats of target / draft", "formats", "times plain float32",
        (with_errors("speculative", (), [f["over_plain"] for f in figures["pairs"]]),),
        categories=[f["pair"] for f in figures["pairs"]],
        lines=(("plain float32", 1.0), ("plain int8", figures["plain_int8"][0])),
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="quantised-pair",
    title="Quantise both models to verify faster",
    claim="Quantising draft and target (to FP8 or INT8) relieves the memory bandwidth and speeds verification up.",
    seeds=("004",),
    kind="timed",
    instrument="The bundled pair with weights kept in several formats, by whatever kernels this version has for them.",
    measure=measure,
    conclude=conclude,
    chart=chart,
)
