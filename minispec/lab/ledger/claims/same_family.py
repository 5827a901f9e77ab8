"""A draft of the target's family against a stranger of the same size."""

from __future__ import annotations

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.small_drafts import BATCH_TOKENS, SEEDS, mix_recipe, only, over_seeds, workshop
from minispec.lab.ledger.verdicts import Finding, above, tally
from minispec.lab.training.mixture import DOMAINS
from minispec.lab.viz.plots.claims import Chart, bars

STEPS = 192

ABOUT = About(
    title="A draft of the same family beats a stranger of its size",
    claim="Models of one family share tokenizer and training text, and are therefore accepted more often than a "
    "generic small model of similar size.",
    sources=("pan-practice", "kumkar"),
    kind="trained",
    instrument="One shape, one tokenizer, as many tokens; only the training text differs. “Family” is the target's own "
    "mix, “stranger” a corpus the target saw little of.",
    literature="Leviathan et al. 2023, table 3: acceptance within one family (T5, LaMDA) rises with the draft's size; "
    "strangers of equal size are not compared.",
    thresholds={"clear": 0.0, "seeds": SEEDS},
)


def measure(setting: Setting) -> Figures:
    """Train one shape on the target's mix and on old books alone, for as many tokens."""
    place = workshop(setting)
    family, strangers = [mix_recipe(STEPS, s) for s in SEEDS], [only("oldbooks", STEPS, s) for s in SEEDS]
    found = place.acceptance([*family, *strangers], setting.scale.prompts, setting.scale.tokens, temperature=1.0)
    return {
        "tokens": STEPS * BATCH_TOKENS,
        "stranger": "old books alone",
        "domains": [
            {
                "domain": d,
                "family": over_seeds([found[r.name][d] for r in family]),
                "stranger": over_seeds([found[r.name][d] for r in strangers]),
                "lead": over_seeds(
                    [found[a.name][d] - found[b.name][d] for a, b in zip(family, strangers, strict=True)], len(DOMAINS)
                ),
            }
            for d in DOMAINS
        ],
    }


def conclude(figures: Figures) -> Conclusion:
    """Each kind of text says whether the family's draft clearly leads, over seeds; the tally is the verdict."""
    rows = [(f["domain"], f["family"], f["stranger"], f["lead"]) for f in figures["domains"]]
    word = tally([above(f["lead"], 0.0) for f in figures["domains"]])
    return Conclusion(
        "None: α = 1 − TV(p, q) asks how near the two laws are, not how they came about.",
        f"Two drafts of 0.6M parameters and one tokenizer, each after {figures['tokens'] / 1e6:.1f}M tokens; α at "
        f"temperature 1, mean of {len(SEEDS)} seeds:"
        + table(("text", "the target's mix", figures["stranger"], "lead"), rows),
        Finding(
            word,
            {
                "holds here": "At one size, what the draft was trained on decides: the target's own mix leads on every "
                "kind of text.",
                "depends": "It depends on the text: the family's mix leads where the stranger saw nothing like it.",
            }.get(word, "The family's draft does not lead clearly.")
            + " A stranger with another tokenizer is not tested here: it would need a second vocabulary to be trained.",
        ),
        [f["lead"] for f in figures["domains"]],
    )


def chart(figures: Figures) -> Chart:
    """Draw alpha by text."""
    found = figures["domains"]
    return bars(
        "Drafts of one size",
        "text",
        "α",
        [f["domain"] for f in found],
        {"the target's mix": [f["family"] for f in found], figures["stranger"]: [f["stranger"] for f in found]},
    )
