"""How many drafts survive a pass."""

from __future__ import annotations

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.instruments import average_clusters, join, tokens_per_step
from minispec.lab.ledger.runs import DOMAINS, decode_all
from minispec.lab.ledger.verdicts import Finding, above, spell, tally
from minispec.lab.viz.plots.claims import Chart, bars
from minispec.theory import tokens_law

GAMMA = 5

ABOUT = About(
    title="A pass often accepts three to five tokens",
    claim="Each pass of the target accepts a varying number of drafts, often three to five.",
    sources=("kumkar",),
    kind="counted",
    instrument="The bundled pair with five drafts a step, on held-out prompts.",
    literature="Tokens a step, of drafts that see the target's features: EAGLE (Li et al. 2024) 3.2 to 4.5, EAGLE-3 "
    "(Li et al. 2025) 5.9 to 6.6 on average for targets of 8B, 13B and 70B at temperature 0.",
    thresholds={"often": 0.5, "gamma": GAMMA, "at_least": 3},
)


def measure(setting: Setting) -> Figures:
    """Count accepted drafts in each step of the bundled pair, by domain and temperature."""
    found = []
    for temperature in (0.0, 1.0):
        for domain in DOMAINS:
            texts = decode_all(domain, setting.scale, gamma=GAMMA, temperature=temperature)
            full = join(texts, lambda run: run.accepted[run.drafted == GAMMA])
            counts = [sum(int((steps == k).sum()) for steps in full) for k in range(GAMMA + 1)]
            found.append(
                {
                    "domain": domain,
                    "temperature": temperature,
                    "tokens_per_step": tokens_per_step(texts),
                    "share": average_clusters([steps >= 3 for steps in full], of=6),
                    "counts": [count / max(1, sum(counts)) for count in counts],
                }
            )
    return {"cases": found}


def conclude(figures: Figures) -> Conclusion:
    """“Often” is in at least half of the steps; each domain and temperature says whether; the tally is the verdict."""
    answers = {f"{f['domain']} at {f['temperature']:g}": above(f["share"], 0.5) for f in figures["cases"]}
    rows = [(f["domain"], f["temperature"], f["share"], f"{f['tokens_per_step'] - 1:.2f}") for f in figures["cases"]]
    commonest = [sorted(range(GAMMA + 1), key=f["counts"].__getitem__)[-2:] for f in figures["cases"]]
    extremes = sum({0, GAMMA} == set(two) for two in commonest)
    chance = {a: tokens_law(a, GAMMA).tail(3) for a in (0.6, 0.7, 0.8, 0.9)}
    return Conclusion(
        "P(at least three of five accepted) = α³ under the formula's assumption: "
        + ", ".join(f"{p:.2f} at α = {a}" for a, p in chance.items())
        + ". So three or more in half of the steps needs α ≥ 0.79.",
        "The bundled pair, γ = 5:"
        + table(("text", "temperature", "share of steps with 3 to 5 accepted", "accepted a step"), rows),
        Finding(
            tally(list(answers.values())),
            f"In at least half of the steps? {spell(answers)}. It takes an acceptance near 0.8. In {extremes} of "
            f"{len(figures['cases'])} cases the two commonest outcomes are none and all.",
        ),
        [f["share"] for f in figures["cases"]],
    )


def chart(figures: Figures) -> Chart:
    """Draw the shares of steps by accepted drafts."""
    shown = [f for f in figures["cases"] if f["temperature"] == 1.0]
    return bars(
        "Accepted drafts of five, temperature 1",
        "accepted in a step",
        "share of steps",
        [str(k) for k in range(GAMMA + 1)],
        {f["domain"]: f["counts"] for f in shown},
    )
