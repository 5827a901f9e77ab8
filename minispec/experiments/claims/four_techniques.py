"""Speculation, quantisation, fusion and batching side by side."""

from __future__ import annotations

from itertools import product
from typing import Any

from minispec.experiments.framework import Conclusion, Experiment, Figures, Setting, table
from minispec.experiments.instruments import DRAFT, TARGET, of_each_kind, time_texts
from minispec.experiments.verdicts import Finding, Interval, above, tally
from minispec.loading import load_model
from minispec.viz.plots.claims import Chart, with_errors

GAMMA = 3
CORNERS = tuple(product((False, True), repeat=3))
"""(speculation, int8, fused kernels)."""


def _name(speculation: bool, int8: bool, fused: bool) -> str:
    parts = [word for word, on in (("speculation", speculation), ("int8", int8), ("fusion", fused)) if on]
    return " + ".join(parts) or "none"


def measure(setting: Setting) -> Figures:
    """Time all eight combinations in turns, greedy."""
    scale = setting.scale
    texts, tokens = of_each_kind(scale.prompts), scale.tokens // 2
    models = {
        (name, int8, fused): load_model(name, "panel" if fused else "numba", "int8" if int8 else "float32")
        for name in (TARGET, DRAFT)
        for int8 in (False, True)
        for fused in (False, True)
    }
    ways: dict[str, dict[str, Any]] = {}
    for speculation, int8, fused in CORNERS:
        target, draft = (models[name, int8, fused] for name in (TARGET, DRAFT))
        target.backend.warm_up()
        ways[_name(speculation, int8, fused)] = {
            "target": target,
            "draft": draft if speculation else None,
            "gamma": GAMMA,
            "temperature": 0.0,
        }
    times = time_texts(ways, texts, tokens, scale.text_rounds)
    return {
        "over_none": {name: times.faster("none", name) for name in ways},
        "over_fusion": {name: times.faster("fusion", name, 2) for name in ("speculation", "int8")},
    }


def conclude(figures: Figures) -> Conclusion:
    """Judge the figures.

    The claimed order: speculation and int8 each gain more than fusion; each says whether; the tally is the verdict.
    """
    found = figures["over_none"]
    answers = [above(figures["over_fusion"][name], 1.0) for name in ("speculation", "int8")]
    product_of_three = found["speculation"][0] * found["int8"][0] * found["fusion"][0]
    rows = [(name, Interval(*figure)) for name, figure in found.items()]
    return Conclusion(
        "Gains multiply only where they save different things. Speculation saves reads of the weights per token, int8 "
        "bytes per read, fusion launches and traffic of activations, batching reads per sequence: the first and the "
        "last two draw on the same idle arithmetic.",
        "Greedy decoding of texts of each kind against plain float32 on the plain compiled backend (`numba`, one "
        "loop nest an operation); “fusion” is the `panel` backend, which fuses norms, products and attention, but "
        "also tiles the products, so that its gain is not that of fusion alone, and has the only fast kernels for "
        "int8, so that “int8” without it is not what int8 can do:"
        + table(("techniques", "times as fast"), rows)
        + "\n\nBatching is not measured: there is no batched engine yet. Predictions are in the entry on batch sizes.",
        Finding(
            tally(answers),
            f"All three together are {found['speculation + int8 + fusion'][0]:.2f} times as fast as none; the product "
            f"of the three alone would be {product_of_three:.2f}. Which one counts most depends on what the machine "
            "waits for; “high” and “moderate” are no properties of the techniques.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the eight corners."""
    return Chart(
        "Three techniques in all combinations",
        "on",
        "times as fast as none",
        (with_errors("greedy, three kinds of text", (), list(figures["over_none"].values())),),
        categories=[name.replace(" + ", "\n") for name in figures["over_none"]],
        lines=(("none", 1.0),),
    )


EXPERIMENT = Experiment(
    name="four-techniques",
    title="Four techniques: speculation, quantisation, fusion, batching",
    claim="Speculation and quantisation raise throughput highly, continuous batching very highly, fused kernels "
    "moderately; they can be combined.",
    seeds=("004",),
    kind="timed",
    instrument="The bundled pair with and without each of three techniques, all eight combinations in turns.",
    literature="None known that varies the four together; figures of whole systems (such as fp8 with EAGLE-3 and "
    "another engine) change several at once.",
    thresholds={"better": 1.0, "gamma": GAMMA},
    measure=measure,
    conclude=conclude,
    chart=chart,
)
