"""Accepted over drafted is not alpha."""

from __future__ import annotations

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.instruments import alpha, rate
from minispec.lab.ledger.runs import DOMAINS, decode_all
from minispec.lab.ledger.verdicts import Finding, side
from minispec.lab.viz.plots.claims import Chart, Curve
from minispec.theory import alpha_from_rate, draft_acceptance_rate

GAMMAS = (1, 3, 5, 8)
DRAFTED, ACCEPTED = 1000, 720

ABOUT = About(
    title="Accepted over drafted tokens tells how good a draft is",
    claim="How good a draft is shows in one quotient, accepted over drafted tokens, say 720 of 1000; high means "
    "speculation can help.",
    sources=("day-05", "kumkar"),
    kind="counted",
    instrument="The bundled pair on held-out prompts, with drafts of several lengths: a figure that describes the "
    "draft should not change with how much it is asked to draft.",
    literature="Leviathan et al. 2023 define α per evaluated position; vLLM reports accepted / drafted, "
    "block-verification papers tokens per step.",
    thresholds={"gamma": 5},
)


def measure(setting: Setting) -> Figures:
    """Decode the same prompts with several gamma and count both rates."""
    found = {}
    for gamma in GAMMAS:
        texts = [runs for domain in DOMAINS for runs in decode_all(domain, setting.scale, gamma=gamma)]
        found[str(gamma)] = {"alpha": alpha(texts), "rate": rate(texts)}
    return {
        "by_gamma": found,
        "worksheet_alpha": {str(gamma): alpha_from_rate(ACCEPTED / DRAFTED, gamma) for gamma in GAMMAS},
    }


def conclude(figures: Figures) -> Conclusion:
    """Judge: false if, at gamma 5, the ratio of the two counts lies outside alpha's interval."""
    five = figures["by_gamma"]["5"]
    same = side(five["alpha"], five["rate"]) == "unclear"
    worksheet = figures["worksheet_alpha"]
    rows = [
        (gamma, found["alpha"], f"{found['rate']:.3f}", f"{draft_acceptance_rate(found['alpha'][0], int(gamma)):.3f}")
        for gamma, found in figures["by_gamma"].items()
    ]
    return Conclusion(
        f"r = α(1 − α^γ) / (γ(1 − α)) ≤ α. 720 of 1000 is α = {worksheet['1']:.2f} if one token was drafted at a time, "
        f"{worksheet['3']:.2f} if three, {worksheet['5']:.2f} if five, {worksheet['8']:.2f} if eight.",
        "One pair, the same prompts, temperature 1:"
        + table(("γ", "α = accepted / evaluated", "accepted / drafted", "what the formula makes of α"), rows),
        Finding(
            "holds here" if same else "false",
            "Accepted / drafted falls when more is drafted, though the draft is the same; α does so much less. Two "
            "counts say nothing about a draft until γ is known. A third quantity goes by the same name, accepted "
            "tokens per step: that is accepted / drafted times γ, and one less than the tokens per step.",
        ),
        [five["alpha"]],
    )


def chart(figures: Figures) -> Chart:
    """Draw both rates over gamma."""
    found = [figures["by_gamma"][str(gamma)] for gamma in GAMMAS]
    return Chart(
        "Two rates of one draft",
        "γ, drafted tokens per step",
        "rate",
        (
            Curve("α, accepted / evaluated", GAMMAS, [f["alpha"] for f in found]),
            Curve("accepted / drafted", GAMMAS, [f["rate"] for f in found]),
        ),
    )
