"""What acceptance a well-matched pair has."""

from __future__ import annotations

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.instruments import alpha, rate
from minispec.lab.ledger.runs import DOMAINS, DRAFT, SMALL_DRAFT, decode_all
from minispec.lab.ledger.verdicts import Finding, inside, spell, tally
from minispec.lab.viz.plots.claims import Chart, bars

LOW, HIGH = 0.70, 0.85

ABOUT = About(
    title="Well-matched pairs accept 70–85 %",
    claim="Typical acceptance rates of well-matched pairs lie between 70 and 85 per cent.",
    sources=("kumkar",),
    kind="counted",
    instrument="Two distilled drafts of the bundled target on held-out prompts.",
    literature="Leviathan et al. 2023, tables 2 and 3: 0.53 to 0.82 for T5 drafts, 0.57 to 0.75 for LaMDA, 0.88 for a "
    "small GPT-like pair.",
    thresholds={"low": LOW, "high": HIGH},
)


def measure(setting: Setting) -> Figures:
    """Decode all prompts with two drafts at three temperatures."""
    found = []
    for draft in (DRAFT, SMALL_DRAFT):
        for temperature in (0.0, 0.8, 1.0):
            texts = [
                runs
                for domain in DOMAINS
                for runs in decode_all(domain, setting.scale, draft=draft, temperature=temperature)
            ]
            found.append({"draft": draft, "temperature": temperature, "alpha": alpha(texts, of=6), "rate": rate(texts)})
    return {"cases": found}


def conclude(figures: Figures) -> Conclusion:
    """Each draft and temperature says whether alpha lies in the range; the tally is the verdict."""
    rows = [(f["draft"], f["temperature"], f["alpha"], f"{f['rate']:.2f}") for f in figures["cases"]]
    answers = {f"{f['draft']} at {f['temperature']:g}": inside(f["alpha"], LOW, HIGH) for f in figures["cases"]}
    as_rate = sum(LOW <= f["rate"] <= HIGH for f in figures["cases"])
    return Conclusion(
        "None: acceptance is 1 − TV(p, q) on average, a property of two models and a text. At γ = 5 an α of 0.70 to "
        "0.85 is an accepted / drafted of 0.39 to 0.63, so the range fits at most one of the two rates.",
        "All prompts together, γ = 5:" + table(("draft", "temperature", "α", "accepted / drafted"), rows),
        Finding(
            tally(list(answers.values())),
            f"All of α's interval in the range? {spell(answers)}. Both drafts are distilled from the target and of one "
            f"family with it. Read as accepted / drafted, {as_rate} of {len(answers)} lie in the range.",
        ),
        [f["alpha"] for f in figures["cases"]],
    )


def chart(figures: Figures) -> Chart:
    """Draw alpha for both drafts."""
    return bars(
        "Acceptance of two drafts, all prompts",
        "temperature",
        "α",
        ("0", "0.8", "1"),
        {draft: [f["alpha"] for f in figures["cases"] if f["draft"] == draft] for draft in (DRAFT, SMALL_DRAFT)},
        bands=(("claimed", LOW, HIGH),),
    )
