"""What quantisation needs."""

from __future__ import annotations

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.instruments import average_clusters, overlaps
from minispec.lab.ledger.runs import DOMAINS, TARGET, model, prompts
from minispec.lab.ledger.verdicts import Finding, below, spell, tally
from minispec.lab.viz.plots.claims import Chart, bars

LITTLE = 0.95  # of the target's own choices are kept

ABOUT = About(
    title="Quantisation needs a GPU, and training or calibration",
    claim="Quantising a model requires GPU support for low precision, and quantisation-aware training or calibration "
    "afterwards.",
    sources=("kumkar",),
    kind="counted",
    instrument="The bundled target against itself, rounded on this CPU with nothing but its weights.",
    literature="Dettmers et al. 2022, LLM.int8(): 8-bit inference without retraining, with outlier channels kept "
    "apart for large models.",
    thresholds={"little": LITTLE},
)


def measure(setting: Setting) -> Figures:
    """Round the target to int8, to the nearest, without data, on this CPU; compare its laws with the target's own."""
    found = []
    for domain in DOMAINS:
        texts = [text for text in prompts(domain, setting.scale.prompts) if len(text) > 2]
        kept = [overlaps(model(TARGET, "int8"), text, 1)[0].tolist() for text in texts]
        found.append({"domain": domain, "kept": average_clusters(kept, of=len(DOMAINS))})
    return {"cases": found}


def conclude(figures: Figures) -> Conclusion:
    """Each kind of text says whether plain rounding loses over a twentieth, so that more would be needed; tallied."""
    answers = {f["domain"]: below(f["kept"], LITTLE) for f in figures["cases"]}
    rows = [(f["domain"], f["kept"]) for f in figures["cases"]]
    return Conclusion(
        "None: rounding to the nearest needs no data, and integers are multiplied by any processor. What a format "
        "loses is 1 − Σ min(p, q), q the law of the rounded model.",
        "Σ min(p, q) of the bundled target and of itself in int8 (a scale per channel, rounded to the nearest, no "
        "calibration, no GPU), over the prompts:" + table(("text", "kept"), rows),
        Finding(
            tally(list(answers.values())),
            f"Does plain rounding lose a twentieth? {spell(answers)}. Neither a GPU nor training or calibration is "
            "needed for int8 weights; formats of four bits and rounded activations are another matter.",
        ),
        [f["kept"] for f in figures["cases"]],
    )


def chart(figures: Figures) -> Chart:
    """Draw what is kept."""
    return bars(
        "The target rounded to int8",
        "text",
        "Σ min(p, q)",
        [f["domain"] for f in figures["cases"]],
        {"round to nearest": [f["kept"] for f in figures["cases"]]},
    )
