"""Predictable and creative text."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.instruments import Row, alpha, average_clusters, compare_clusters, overlaps
from minispec.lab.ledger.runs import DOMAINS, DRAFT, decode_all, model
from minispec.lab.ledger.verdicts import Finding, Interval, above, spell, tally
from minispec.lab.viz.plots.claims import Chart, Curve

TEMPERATURES = (0.0, 0.5, 0.8, 1.0, 1.3)
JUDGED = 2 * len(DOMAINS)  # the verdict reads two intervals of each domain
EDGES = (0.0, 0.5, 1.5, 3.0, 4.5, 10.0)  # nats

ABOUT = About(
    title="Predictable text gains, creative text does not",
    claim="Boilerplate, predictable completions and constrained output suit speculation; text that is hard to "
    "guess does not.",
    sources=("day-05",),
    kind="counted",
    instrument="Text the target sampled itself, scored by both models position by position; and whole runs at several "
    "temperatures.",
    literature="Chen et al. 2023: 1.92x on summaries (XSum, nucleus), 2.46x on code (HumanEval), at one draft length.",
    thresholds={"clear": 0.0, "creative": "stories", "parts": 3},
)


def measure(setting: Setting) -> Figures:
    """Relate acceptance at each position of sampled text to the target's entropy there, and to the temperature."""
    scale = setting.scale
    found = []
    bins: list[list[Row]] = [[] for _ in EDGES[1:]]
    for domain in DOMAINS:
        thirds: list[list[Row]] = [[], [], []]
        for runs in decode_all(domain, scale, draft=None):
            scored = [overlaps(model(DRAFT), run.text, len(run.prompt)) for run in runs]
            beta, entropy = (np.concatenate(values) for values in zip(*scored, strict=True))
            for third, part in zip(thirds, np.array_split(np.argsort(entropy, kind="stable"), 3), strict=True):
                third.append(beta[part])
            for i, of_bin in enumerate(bins):
                of_bin.append(beta[(entropy >= EDGES[i]) & (entropy < EDGES[i + 1])])
        fall = compare_clusters(thirds[0], thirds[2], of=JUDGED)
        whole = [np.concatenate(parts) for parts in zip(*thirds, strict=True)]
        found.append(
            {
                "domain": domain,
                "thirds": [average_clusters(third) for third in thirds],
                "fall": fall,
                "all": average_clusters(whole, of=JUDGED),
            }
        )
    by_temperature = [
        alpha([runs for d in DOMAINS for runs in decode_all(d, scale, temperature=t)]) for t in TEMPERATURES
    ]
    return {"domains": found, "bins": [average_clusters(of_bin) for of_bin in bins], "by_temperature": by_temperature}


def conclude(figures: Figures) -> Conclusion:
    """Judge the figures.

    Each domain says whether its most predictable third is accepted more than its least; and stories, the creative kind,
    whether they are accepted less than every other kind; the tally is the verdict.
    """
    answers = [above(f["fall"], 0.0) for f in figures["domains"]]
    kinds = {f["domain"]: Interval(*f["all"]) for f in figures["domains"]}
    others = [kind for name, kind in kinds.items() if name != "stories"]
    if all(kinds["stories"].high < other.low for other in others):
        label: bool | None = True
    else:
        label = False if any(kinds["stories"].low > other.high for other in others) else None
    rows = [(f["domain"], *f["thirds"]) for f in figures["domains"]]
    heat = ", ".join(
        f"{found[0]:.2f} at {t:g}" for t, found in zip(TEMPERATURES, figures["by_temperature"], strict=True)
    )
    return Conclusion(
        "Acceptance is 1 − TV(p, q). Where p has nearly all its mass on one token a draft need only know that token; "
        "where p is spread, every difference of the two models counts. Entropy bounds nothing exactly.",
        "Σ min(p, q) at each position of text the target sampled, by thirds of the target's entropy within each text:"
        + table(("text", "most predictable", "middle", "least predictable"), rows)
        + f"\n\nα of whole runs by temperature, all texts: {heat}.",
        Finding(
            tally([*answers, label]),
            "Predictable positions accepted more often? "
            + spell({f["domain"]: answer for f, answer in zip(figures["domains"], answers, strict=True)})
            + ". Stories, the creative kind, accepted less than the others? "
            + ", ".join(f"{name} {kind.value:.2f}" for name, kind in kinds.items())
            + ". "
            + (
                "The label of a text says as much here as how sure the target is."
                if label
                else "It is not the label of a text that counts but how sure the target is, position by position."
            ),
        ),
        [*(f["fall"] for f in figures["domains"]), *kinds.values()],
    )


def chart(figures: Figures) -> Chart:
    """Draw acceptance over entropy."""
    middles = [0.5 * (a + b) for a, b in pairwise(EDGES)]
    return Chart(
        "Acceptance and how sure the target is",
        "entropy of the target, nats",
        "Σ min(p, q)",
        (Curve("all texts", middles, figures["bins"]),),
    )
