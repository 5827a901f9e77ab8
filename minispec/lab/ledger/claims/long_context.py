"""Acceptance far into a text."""

from __future__ import annotations

import numpy as np

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.instruments import Row, average_clusters, compare_clusters, overlaps
from minispec.lab.ledger.runs import DOMAINS, DRAFT, SMALL_DRAFT, decode_all, model
from minispec.lab.ledger.verdicts import Finding, Interval, above
from minispec.lab.viz.plots.claims import Chart, Curve

PARTS = 6

ABOUT = About(
    title="Drafts struggle in long contexts",
    claim="Off-the-shelf draft models do badly on very long contexts.",
    sources=("pan-practice",),
    kind="counted",
    instrument="Texts the target sampled up to nearly its window of 1024 tokens, scored by two drafts. Both saw "
    "long rows in every fourth step of their training.",
    literature="MagicDec (Sadhukhan et al. 2025) drafts with a short cache for long contexts and gains more there, "
    "with the draft's cost as the reason. SpecExtend (Cha et al. 2025): draft models lose accuracy on long inputs.",
    thresholds={"clear": 0.0, "parts": PARTS, "draft": DRAFT},
)


def measure(setting: Setting) -> Figures:
    """Let the target write to the end of its window; look at acceptance in sixths of the text."""
    scale = setting.scale
    parts: dict[str, list[list[Row]]] = {name: [[] for _ in range(PARTS)] for name in (DRAFT, SMALL_DRAFT)}
    for domain in DOMAINS:
        for runs in decode_all(domain, scale, scale.long, draft=None):
            for name, collected in parts.items():
                scored = [np.array_split(overlaps(model(name), run.text, len(run.prompt))[0], PARTS) for run in runs]
                for part, of_runs in zip(collected, zip(*scored, strict=True), strict=True):
                    part.append(np.concatenate(of_runs))
    return {
        "tokens": scale.long,
        "drafts": {name: [average_clusters(part) for part in made] for name, made in parts.items()},
        "fall": compare_clusters(parts[DRAFT][0], parts[DRAFT][-1]),
    }


def conclude(figures: Figures) -> Conclusion:
    """Judge the figures.

    Holds here if the first sixth is clearly accepted more than the last; false if clearly not; else undecided.
    """
    fall = Interval(*figures["fall"])
    clear = above(fall, 0.0)
    rows = [
        (
            f"{i * figures['tokens'] // PARTS} to {(i + 1) * figures['tokens'] // PARTS}",
            *(figures["drafts"][name][i] for name in (DRAFT, SMALL_DRAFT)),
        )
        for i in range(PARTS)
    ]
    return Conclusion(
        "None for acceptance. The cost side is known: reading the caches grows with the context for draft and target "
        "alike, and the target's verifying pass reads its cache once for all rows.",
        "Σ min(p, q) along text the target sampled:" + table(("tokens", DRAFT, SMALL_DRAFT), rows),
        Finding(
            {True: "holds here", False: "false", None: "undecided"}[clear],  # type: ignore[arg-type]
            f"From the first to the last sixth acceptance changes by {-fall.value:+.3f} ({-fall.high:+.3f} to "
            f"{-fall.low:+.3f}) within a window of 1024 tokens. “Very long” contexts, beyond what a draft was trained "
            "on, would need models with windows of tens of thousands of tokens.",
        ),
        [fall],
    )


def chart(figures: Figures) -> Chart:
    """Draw acceptance along the text."""
    middles = [(i + 0.5) * figures["tokens"] / PARTS for i in range(PARTS)]
    return Chart(
        "Acceptance along a text",
        "tokens into the text",
        "Σ min(p, q)",
        tuple(Curve(name, middles, found) for name, found in figures["drafts"].items()),
    )
