"""A better mix or more data for a draft."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.small_drafts import BATCH_TOKENS, SEEDS, Recipe, mix_recipe, only, over_seeds, workshop
from minispec.lab.ledger.verdicts import Finding, Interval, above
from minispec.lab.training.mixture import DOMAINS
from minispec.lab.viz.plots.claims import Chart, bars

SHORT, LONG = 48, 192
RECIPES: Mapping[str, Callable[[int], Recipe]] = {
    "stories": lambda seed: only("stories", SHORT, seed),
    "stories, 4x": lambda seed: only("stories", LONG, seed),
    "mix": lambda seed: mix_recipe(SHORT, seed),
    "mix, 4x": lambda seed: mix_recipe(LONG, seed),
}

ABOUT = About(
    title="For a draft the data mix matters more than its size",
    claim="Balancing the kinds of text a draft is trained on did more for its quality than simply more data.",
    sources=("pan-practice",),
    kind="trained",
    instrument="Drafts of one shape on one kind of text or on the target's own mix, once and four times as much, "
    "judged on text the target wrote after held-out beginnings of three kinds.",
    literature="DistillSpec (Zhou et al. 2023) reports 10 to 45 % more speed from distilling the draft on text of "
    "its own; on mixes of data none known.",
    thresholds={"clear": 0.0, "tokens": [SHORT, LONG], "seeds": SEEDS},
)


def measure(setting: Setting) -> Figures:
    """Train on one kind of text and on the mix, with once and four times the data, each token seen once."""
    place = workshop(setting)
    drafts = [recipe(seed) for recipe in RECIPES.values() for seed in SEEDS]
    found = place.acceptance(drafts, setting.scale.prompts, setting.scale.tokens, temperature=1.0)

    def alphas(name: str, seed: int) -> dict[str, float]:
        return found[RECIPES[name](seed).name]

    def mean(name: str, seed: int) -> float:
        return statistics.mean(alphas(name, seed).values())

    return {
        "tokens": SHORT * BATCH_TOKENS,
        "alpha": {name: over_seeds([mean(name, seed) for seed in SEEDS]) for name in RECIPES},
        "by_domain": {
            name: {d: statistics.mean(alphas(name, seed)[d] for seed in SEEDS) for d in DOMAINS} for name in RECIPES
        },
        "of_mix": over_seeds([mean("mix", seed) - mean("stories", seed) for seed in SEEDS]),
        "of_data": over_seeds([mean("stories, 4x", seed) - mean("stories", seed) for seed in SEEDS]),
        "mix_over_data": over_seeds([mean("mix", seed) - mean("stories, 4x", seed) for seed in SEEDS]),
    }


def conclude(figures: Figures) -> Conclusion:
    """Judge the figures.

    Holds here if the small mixed set clearly beats the fourfold one of one kind, over seeds; false if clearly not.
    """
    lead = Interval(*figures["mix_over_data"])
    clear = above(lead, 0.0)
    rows = [
        (name, found, *(f"{figures['by_domain'][name][d]:.3f}" for d in DOMAINS))
        for name, found in figures["alpha"].items()
    ]
    return Conclusion(
        "None.",
        f"Drafts of 0.6M parameters on {figures['tokens'] / 1e6:.1f}M tokens or four times as many, each seen once; α "
        f"at temperature 1, mean of {len(SEEDS)} seeds:"
        + table(("trained on", "mean α", *DOMAINS), rows)
        + f"\n\nThe mix gains {figures['of_mix'][0]:+.3f}, four times the data {figures['of_data'][0]:+.3f}; small mix "
        f"against fourfold stories: {lead.value:+.3f} ({lead.low:+.3f} to {lead.high:+.3f}).",
        Finding(
            {True: "holds here", False: "false", None: "undecided"}[clear],  # type: ignore[arg-type]
            {
                True: "A quarter of the data in the right mix served the three kinds of text better than four times as "
                "much of one kind.",
                False: "Four times the data of one kind served the three kinds of text better than the mix: such young "
                "drafts lack the basics, which any text teaches.",
                None: "The seeds differ too much to tell.",
            }[clear]
            + " For drafts this young; what it is for one trained on billions of tokens is not tested.",
        ),
        [lead],
    )


def chart(figures: Figures) -> Chart:
    """Draw mean alpha."""
    return bars(
        "Mix and amount of data, drafts of 0.6M",
        "trained on",
        "mean α over three kinds of text",
        list(figures["alpha"]),
        {f"{len(SEEDS)} seeds": list(figures["alpha"].values())},
    )
