"""Acceptance by kind of text."""

from __future__ import annotations

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.instruments import alpha, rate
from minispec.lab.ledger.runs import DOMAINS, decode_all
from minispec.lab.ledger.verdicts import Finding, inside, spell, tally
from minispec.lab.viz.plots.claims import Chart, bars

CLAIMED = {"stories": (0.50, 0.65), "code": (0.70, 0.80), "questions": (0.60, 0.75)}
TEMPERATURES = (0.0, 1.0)

ABOUT = About(
    title="Code 70–80 %, questions 60–75 %, creative text 50–65 %",
    claim="On typical work 70 to 80 % of the tokens are accepted in code, 60 to 75 % in factual questions, 50 to "
    "65 % in creative writing.",
    sources=("nikolatesla",),
    kind="counted",
    instrument="The bundled pair on held-out prompts of each kind. The models continue text; they are not tuned to "
    "instructions, so “questions” are school sums and “creative writing” is stories.",
    literature="Online Speculative Decoding (Liu et al. 2023), drafts distilled offline, by the plots in the authors' "
    "repository: SQL 0.76, school sums 0.75, finance 0.67, Python code 0.65; code is the lowest.",
    thresholds={"claimed": CLAIMED},
)


def measure(setting: Setting) -> Figures:
    """Decode each domain's prompts at two temperatures."""
    found = []
    for temperature in TEMPERATURES:
        for domain in DOMAINS:
            texts = decode_all(domain, setting.scale, temperature=temperature)
            case = {"temperature": temperature, "domain": domain}
            found.append(case | {"alpha": alpha(texts, of=6), "rate": rate(texts)})
    return {"cases": found}


def conclude(figures: Figures) -> Conclusion:
    """Each domain and temperature says whether alpha lies in the claimed range; the tally is the verdict."""
    answers = {
        f"{f['domain']} at {f['temperature']:g}": inside(f["alpha"], *CLAIMED[f["domain"]]) for f in figures["cases"]
    }
    rows = [
        (
            f["domain"],
            f["temperature"],
            f["alpha"],
            f"{f['rate']:.2f}",
            "{:.0%} to {:.0%}".format(*CLAIMED[f["domain"]]),
        )
        for f in figures["cases"]
    ]
    order = {
        t: " > ".join(
            f["domain"] for f in sorted(figures["cases"], key=lambda f: -f["alpha"][0]) if f["temperature"] == t
        )
        for t in TEMPERATURES
    }
    alphas = {(f["domain"], f["temperature"]): f["alpha"][0] for f in figures["cases"]}
    moved = [abs(alphas[domain, 0.0] - alphas[domain, 1.0]) for domain in DOMAINS]
    return Conclusion(
        "None: acceptance belongs to two models and a text. The claim names neither the rate (α or accepted / "
        "drafted), the draft length nor the temperature.",
        "The bundled pair, γ = 5:"
        + table(("text", "temperature", "α", "accepted / drafted", "claimed"), rows)
        + f"\n\nIn order: {order[0.0]} at temperature 0, {order[1.0]} at temperature 1.",
        Finding(
            tally(list(answers.values())),
            f"All of α's interval in the claimed range? {spell(answers)}. The temperature, which the claim leaves out, "
            f"moves α by {min(moved):.2f} to {max(moved):.2f} within a kind of text.",
        ),
        [f["alpha"] for f in figures["cases"]],
    )


def chart(figures: Figures) -> Chart:
    """Draw alpha by domain."""
    return bars(
        "Acceptance by kind of text, bundled pair",
        "claimed: stories 0.50–0.65, code 0.70–0.80, questions 0.60–0.75",
        "α",
        DOMAINS,
        {f"temperature {t:g}": [f["alpha"] for f in figures["cases"] if f["temperature"] == t] for t in TEMPERATURES},
    )
