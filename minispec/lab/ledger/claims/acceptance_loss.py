"""A draft trained on acceptance, or on the divergence."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.small_drafts import BATCH_TOKENS, SEEDS, Loss, Recipe, over_seeds, workshop
from minispec.lab.ledger.verdicts import Finding, Interval, above, spell, tally
from minispec.lab.training.mixture import DOMAINS
from minispec.lab.viz.plots.claims import Chart, bars

START, STEPS = "draft-0.6m", 24
LOSSES: Mapping[Loss, str] = {"text": "the text", "kl": "KL(p ‖ q)", "acceptance": "−log α"}
TEMPERATURES = (0.0, 1.0)

ABOUT = About(
    title="A draft should be trained on acceptance itself",
    claim="A draft that is trained on its own acceptance (−log α) is accepted more often than one that is trained as "
    "long on the divergence from the target (KL), which is only a proxy.",
    sources=(),
    kind="trained",
    instrument="One start, the same batches, only the loss differs; a third draft learns the text alone. Its start was "
    "distilled by the divergence, so what is left to learn is little.",
    literature="LK Losses (Samarin et al. 2026) claims it, and reports up to 8 to 10 % more tokens per round from "
    "−log α and from a blend of both losses, for targets of 8B to 685B. DistillSpec (Zhou et al. 2023) tried 1 − α "
    "among other divergences, and found none best everywhere.",
    thresholds={"clear": 0.0, "steps": STEPS, "seeds": SEEDS},
)


def measure(setting: Setting) -> Figures:
    """Go on with one draft on the same batches by three losses; measure alpha on text the target wrote."""
    place = workshop(setting)

    def teach(loss: Loss, seed: int) -> Recipe:
        return Recipe("mix", STEPS, seed, START, loss)

    drafts: list[Recipe | str] = [START, *(teach(loss, seed) for loss in LOSSES for seed in SEEDS)]
    cases = []
    for temperature in TEMPERATURES:
        found = place.acceptance(drafts, setting.scale.prompts, setting.scale.tokens, temperature)
        by_loss = {loss: [found[teach(loss, seed).name] for seed in SEEDS] for loss in LOSSES}
        mean = {loss: [statistics.mean(seen.values()) for seen in of_seeds] for loss, of_seeds in by_loss.items()}
        leads = [mine - other for mine, other in zip(mean["acceptance"], mean["kl"], strict=True)]
        cases.append(
            {
                "temperature": temperature,
                "before": statistics.mean(found[START].values()),
                "alpha": {loss: over_seeds(values) for loss, values in mean.items()},
                "by_domain": {
                    loss: {d: statistics.mean(seen[d] for seen in of_seeds) for d in DOMAINS}
                    for loss, of_seeds in by_loss.items()
                },
                "lead": over_seeds(leads, len(TEMPERATURES)),
            }
        )
    return {"tokens": STEPS * BATCH_TOKENS, "cases": cases}


def conclude(figures: Figures) -> Conclusion:
    """Each temperature says whether acceptance as the loss clearly leads the divergence, over seeds; tallied."""
    answers = {f"at temperature {f['temperature']:g}": above(f["lead"], 0.0) for f in figures["cases"]}
    rows = [
        (f"{case['temperature']:g}", LOSSES[loss], found, *(f"{case['by_domain'][loss][d]:.3f}" for d in DOMAINS))
        for case in figures["cases"]
        for loss, found in case["alpha"].items()
    ]
    leads = [Interval(*case["lead"]) for case in figures["cases"]]
    return Conclusion(
        "α = 1 − TV(p, q) ≥ 1 − √(KL(p ‖ q)/2): both losses have the same best draft, q = p. A draft too small to "
        "reach it must choose what to miss: the divergence asks it to cover all of p, acceptance to waste no mass of "
        "its own.",
        f"The bundled {START}, which was distilled by the divergence, goes on for {figures['tokens'] / 1e6:.1f}M "
        "tokens of the target's mix, on the same batches for each loss; α on text the target wrote, mean of "
        f"{len(SEEDS)} seeds (before: "
        + ", ".join(f"{case['before']:.3f} at temperature {case['temperature']:g}" for case in figures["cases"])
        + "):"
        + table(("temperature", "loss", "mean α", *DOMAINS), rows),
        Finding(
            tally(list(answers.values())),
            "Acceptance as the loss against the divergence, mean α: "
            + "; ".join(
                f"{lead.value:+.4f} ({lead.low:+.4f} to {lead.high:+.4f}) {at}"
                for at, lead in zip(answers, leads, strict=True)
            )
            + f". More: {spell(answers)}. What the losses do to a draft that is trained by one of them from the "
            "beginning is not tested.",
        ),
        leads,
    )


def chart(figures: Figures) -> Chart:
    """Draw mean alpha by loss."""
    return bars(
        "One draft, three losses",
        "loss",
        "mean α over three kinds of text",
        [LOSSES[loss] for loss in figures["cases"][0]["alpha"]],
        {f"temperature {case['temperature']:g}": list(case["alpha"].values()) for case in figures["cases"]},
    )
