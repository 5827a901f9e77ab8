"""What a second model takes in memory."""

from __future__ import annotations

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.runs import DRAFT, SMALL_DRAFT, TARGET, model
from minispec.lab.ledger.verdicts import Finding
from minispec.lab.roofline.forwards import model_storage
from minispec.lab.roofline.memory import measure_pair, pair_memory
from minispec.lab.roofline.shapes import Shape
from minispec.lab.viz.plots.claims import Chart, bars

DRAFTS = (DRAFT, SMALL_DRAFT)
NEAR = 0.2

ABOUT = About(
    title="Two models need the memory of both",
    claim="Keeping two models raises the peak memory: the draft and its own cache come on top of the target.",
    sources=("pan-practice", "kumkar"),
    kind="counted",
    instrument="What the system says a fresh process grows by, when it loads both models and fills both caches, "
    "against a count from the shapes.",
    literature="Kangaroo (Liu et al. 2024) counts 67M parameters of its own draft against 591M of Medusa's heads; "
    "Medusa and self-speculation avoid a second model.",
    thresholds={"near": NEAR},
)


def measure(setting: Setting) -> Figures:
    """Load each pair in a process of its own and ask the system for its size; count the same from the shapes."""
    target, tokens = model(TARGET), setting.scale.long
    pairs = []
    for name in DRAFTS:
        draft = model(name)
        target_shape, draft_shape = (Shape.from_config(m.config, m.name) for m in (target, draft))
        counted = pair_memory(target_shape, draft_shape, model_storage(target), model_storage(draft))
        found = measure_pair(
            TARGET, name, backend=target.backend.name, dtype="float32", draft_dtype="float32", tokens=tokens
        )
        pairs.append(
            {
                "draft": name,
                "tokens": tokens,
                "target_weights": counted.target_weights_bytes,
                "draft_weights": counted.draft_weights_bytes,
                "target_cache": counted.target_cache_bytes,
                "draft_cache": counted.draft_cache_bytes,
                "counted": counted.resident_bytes(tokens),
                "measured": found.filled_bytes - found.started_bytes,
            }
        )
    return {"pairs": pairs}


def _share(pair: Figures) -> float:
    """Return what the draft adds to the target, weights and caches for the whole context."""
    draft, target = (pair[f"{side}_weights"] + pair[f"{side}_cache"] for side in ("draft", "target"))
    return float(draft / target)


def conclude(figures: Figures) -> Conclusion:
    """Judge the figures.

    Holds here if what the pair occupies is within 20 % of both models' count, and more than the target's alone.
    """
    pairs = figures["pairs"]
    near = all(abs(p["measured"] / p["counted"] - 1.0) <= NEAR for p in pairs)
    more = all(p["measured"] > p["target_weights"] for p in pairs)
    rows = [
        (
            p["draft"],
            *(
                f"{p[part] / 1e6:.1f}"
                for part in ("target_weights", "target_cache", "draft_weights", "draft_cache", "counted", "measured")
            ),
        )
        for p in pairs
    ]
    return Conclusion(
        "Weights of both models, and two caches of 2 · layers · width · bytes per token; verification needs room for "
        "γ + 1 more rows, no more. Nothing is shared between the two.",
        f"In MB, float32; caches for the whole context; the sums with {pairs[0]['tokens']} tokens in both caches, "
        "counted, and as the system sees the process grow:"
        + table(("draft", "target's weights", "cache", "draft's weights", "cache", "counted", "measured"), rows),
        Finding(
            "holds here" if near and more else "false",
            "The draft adds "
            + " or ".join(f"{_share(p):.0%} ({p['draft']})" for p in pairs)
            + " to the target's memory. A large vocabulary makes "
            "small drafts larger than their layers suggest.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the parts."""
    pairs = figures["pairs"]
    parts = ("target_weights", "target_cache", "draft_weights", "draft_cache")
    return bars(
        "Memory of the bundled pairs",
        "part",
        "MB",
        [part.replace("_", " ") for part in parts],
        {f"with {p['draft']}": [p[part] / 1e6 for part in parts] for p in pairs},
    )
