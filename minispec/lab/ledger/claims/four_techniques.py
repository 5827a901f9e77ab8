"""Speculation, quantisation, fusion and batching side by side."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

from minispec.engine.loading import load_model
from minispec.lab.ledger.batches import PAIR, Group, make_groups, on_card, one_by_one, time_groups, together
from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.runs import DRAFT, TARGET
from minispec.lab.ledger.verdicts import Finding, Interval, above, tally
from minispec.lab.viz.plots.claims import Chart, bars

GAMMA, BATCH = 3, 16
CARD, ALPHA = "h100", 0.7
CORNERS = tuple(product((False, True), repeat=4))
"""(speculation, int8, fused kernels, batch)."""
SINGLE = ("speculation", "int8", "fusion", "batch")
ORDER = (("batch", "speculation"), ("batch", "int8"), ("speculation", "fusion"), ("int8", "fusion"))
"""What the claim ranks higher, and lower."""

ABOUT = About(
    title="Four techniques: speculation, quantisation, fusion, batching",
    claim="Speculation and quantisation raise throughput highly, continuous batching very highly, fused kernels "
    "moderately; they can be combined.",
    sources=("kumkar",),
    kind="timed",
    instrument="The bundled pair with and without each of the four techniques, all sixteen combinations in turns; "
    "groups of 16 texts, decoded one by one or together; a data sheet beside.",
    literature="None known that varies the four together; figures of whole systems (such as fp8 with EAGLE-3 and "
    "another engine) change several at once.",
    thresholds={"better": 1.0, "order": ORDER, "gamma": GAMMA, "batch": BATCH, "card": CARD, "alpha": ALPHA},
)


def _name(*on: bool) -> str:
    return " + ".join(word for word, is_on in zip(SINGLE, on, strict=False) if is_on) or "none"


def measure(setting: Setting) -> Figures:
    """Time all sixteen combinations in turns, greedy; and compute those of a large card that need no kernels."""
    scale = setting.scale
    size = BATCH if scale.repeats > 2 else 2
    tokens = scale.tokens // 2 + GAMMA + 2
    models = {
        (name, int8, fused): load_model(name, "panel" if fused else "numba", "int8" if int8 else "float32")
        for name in (TARGET, DRAFT)
        for int8 in (False, True)
        for fused in (False, True)
    }
    for loaded in models.values():
        loaded.backend.warm_up()

    def way(speculation: bool, int8: bool, fused: bool, batch: bool) -> Callable[[Group], float]:
        target, draft = (models[name, int8, fused] for name in (TARGET, DRAFT))
        decode = together if batch else one_by_one
        return lambda group: decode(target, draft, group, GAMMA * speculation, tokens)

    ways = {_name(*corner): way(*corner) for corner in CORNERS}
    times = time_groups(ways, make_groups(scale.timed, size), scale.text_rounds)
    return {
        "over_none": {name: times.faster("none", name) for name in ways},
        "order": {f"{high} over {low}": times.faster(low, high, len(ORDER)) for high, low in ORDER},
        "batch": size,
        "on_card": on_a_card(),
    }


def on_a_card() -> dict[str, float]:
    """Return how many times as many tokens a second a large card makes, by its data sheet, with each combination."""
    formats = {False: "float16", True: "int8"}
    points = {
        int8: on_card(CARD, (1, BATCH), alpha=ALPHA, gamma=GAMMA, storage=storage) for int8, storage in formats.items()
    }
    none = points[False][0].tokens_per_s
    return {
        _name(speculation, int8, False, batch): points[int8][batch].tokens_per_s
        * ((points[int8][batch].speedup or 0.0) if speculation else 1.0)
        / none
        for speculation, int8, batch in product((False, True), repeat=3)
    }


def conclude(figures: Figures) -> Conclusion:
    """Judge the claimed order.

    Batching gains more than speculation and than int8, and each of these more than fusion: each of the four says
    whether; the tally is the verdict.
    """
    found = figures["over_none"]
    order, card = figures["order"], figures["on_card"]
    singles = [name for name in SINGLE if name in found]
    alone = math.prod(found[name][0] for name in singles)
    every = found[" + ".join(singles)][0]
    rows = [(name, f, f"{card[name]:.1f}" if name in card else "") for name, f in found.items()]
    told = (
        "Greedy decoding of texts of each kind against plain float32 on the plain compiled backend (`numba`, one "
        "loop nest an operation); “fusion” is the `panel` backend, which fuses norms, products and attention, but "
        "also tiles the products, so that its gain is not that of fusion alone, and has the only fast kernels for "
        f"int8, so that “int8” without it is not what int8 can do. “batch” decodes {figures['batch']} texts together; "
        "without it the same ones are decoded one by one. Beside, where it needs no kernels: a "
        f"{PAIR[0]} with a draft of {PAIR[1]} on {CARD} by its data sheet, float16 or int8, batch {BATCH}, "
        f"α = {ALPHA}, γ = {GAMMA}." + table(("techniques", "times as fast", CARD), rows)
    )
    return Conclusion(
        "Gains multiply only where they save different things. Speculation saves reads of the weights per token, int8 "
        "bytes per read, fusion launches and traffic of activations, batching reads per sequence: the first and the "
        "last two draw on the same idle arithmetic.",
        told,
        Finding(
            tally([above(figure, 1.0) for figure in order.values()]),
            f"All together are {every:.2f} times as fast as none; the product of each alone would be {alone:.2f}. "
            + "; ".join(f"{name}: {Interval(*figure)}" for name, figure in order.items())
            + ". Which one counts most depends on what the machine waits for; “high” and “moderate” are no properties "
            "of the techniques.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the corners."""
    return bars(
        "The techniques in all combinations",
        "techniques",
        "speedup over none of them",
        list(figures["over_none"]),
        {"greedy, three kinds of text": list(figures["over_none"].values())},
        lines=(("none", 1.0),),
    )
