"""What a reader would see if drafts were shown."""

from __future__ import annotations

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.instruments import average_clusters, count, join, rate
from minispec.lab.ledger.runs import DOMAINS, decode_all
from minispec.lab.ledger.verdicts import Finding, above, tally
from minispec.lab.viz.plots.claims import Chart, bars

OFTEN = 0.05

ABOUT = About(
    title="Drafts shown to the reader are taken back before his eyes",
    claim="The guarantee is about the final tokens; a client that shows drafts as they are made shows text that is "
    "rewritten whenever a suffix is rejected.",
    sources=("pan-streaming",),
    kind="counted",
    instrument="The bundled pair on held-out prompts; a draft counts as shown when it is proposed.",
    literature="None known: the papers bind the committed text.",
    thresholds={"often": OFTEN},
)


def measure(setting: Setting) -> Figures:
    """Count the steps, and the tokens, that would have been taken back."""
    found = []
    for temperature in (0.0, 1.0):
        for domain in DOMAINS:
            texts = decode_all(domain, setting.scale, temperature=temperature)
            rewritten = join(texts, lambda run: (run.accepted < run.drafted)[run.drafted > 0])
            back = sum(count(texts, "num_draft_tokens")) - sum(count(texts, "num_accepted_tokens"))
            found.append(
                {
                    "domain": domain,
                    "temperature": temperature,
                    "steps": average_clusters(rewritten, of=6),
                    "taken_back": 1.0 - rate(texts),
                    "per_100": 100 * back / sum(count(texts, "num_tokens")),
                }
            )
    return {"cases": found}


def conclude(figures: Figures) -> Conclusion:
    """Each case says whether more than one step in twenty would rewrite text; the tally is the verdict."""
    rows = [
        (f["domain"], f["temperature"], f["steps"], f"{f['taken_back']:.0%}", f"{f['per_100']:.0f}")
        for f in figures["cases"]
    ]
    shares = [f["steps"][0] for f in figures["cases"]]
    return Conclusion(
        "A step takes something back unless all its drafts survive: with probability 1 − α^γ, two thirds of the steps "
        "at α = 0.8, γ = 5. The share of drafted tokens taken back is 1 − accepted / drafted.",
        "The bundled pair, γ = 5, as if drafts were shown at once:"
        + table(("text", "temperature", "steps that rewrite", "drafts taken back", "taken back per 100 kept"), rows),
        Finding(
            tally([above(f["steps"], OFTEN) for f in figures["cases"]]),
            "What the guarantee covers is the committed text. Showing drafts would rewrite something in "
            f"{min(shares):.0%} to {max(shares):.0%} of the steps, so this engine emits a token only when it is "
            "committed; the price is that tokens come in bursts.",
        ),
        [f["steps"] for f in figures["cases"]],
    )


def chart(figures: Figures) -> Chart:
    """Draw the steps that rewrite."""
    return bars(
        "Steps that would take back shown text",
        "text",
        "share of steps",
        DOMAINS,
        {f"temperature {t:g}": [f["steps"] for f in figures["cases"] if f["temperature"] == t] for t in (0.0, 1.0)},
    )
