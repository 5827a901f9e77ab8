"""What speculation does to the slowest responses."""

from __future__ import annotations

import numpy as np

from minispec.experiments.framework import Conclusion, Experiment, Figures, Setting, table
from minispec.experiments.instruments import charge_steps
from minispec.experiments.runs import DOMAINS, decode_all
from minispec.experiments.verdicts import Finding, tally
from minispec.theory import steps_law, tokens_law
from minispec.viz.plots.claims import Chart, Curve

GAMMAS = (1, 3, 5, 8)
C, ROW = 0.1, 0.05  # a draft token; each further row of a verifying forward
LENGTH = 64
DRAFTS = {"bundled draft": "draft-1.6m", "poor draft (α = 0.2)": "synthetic:alpha=0.2"}


def _v(rows: int) -> float:
    return 1.0 + ROW * (rows - 1)


def measure(setting: Setting) -> Figures:
    """Charge each response of 64 tokens with stated costs; compare the slow ones with the median."""
    length = min(LENGTH, setting.scale.tokens)
    found = []
    for name, draft in DRAFTS.items():
        for gamma in GAMMAS:
            runs = [
                run
                for domain in DOMAINS
                for of_text in decode_all(domain, setting.scale, length, draft=draft, gamma=gamma)
                for run in of_text
            ]
            per_token = [sum(charge_steps(run, C, _v)) / run.num_tokens for run in runs]
            found.append(
                {
                    "draft": name,
                    "gamma": gamma,
                    "p50": float(np.median(per_token)),
                    "p90": float(np.quantile(per_token, 0.9)),
                    "worst": max(per_token),
                    "longest_gap": gamma * C + _v(gamma + 1),
                }
            )
    law = {
        f"{alpha}": [
            [
                steps_law(LENGTH, tokens_law(alpha, gamma)).quantile(q) * (gamma * C + _v(gamma + 1)) / LENGTH
                for q in (0.5, 0.99)
            ]
            for gamma in GAMMAS
        ]
        for alpha in (0.2, 0.7)
    }
    return {"cases": found, "responses": len(runs), "law": law}


def conclude(figures: Figures) -> Conclusion:
    """Each draft at gamma 5 says whether its slowest tenth is slower than plain decoding; the tally is the verdict."""
    answers = [f["p90"] > 1.0 for f in figures["cases"] if f["gamma"] == 5]
    rows = [
        (f["draft"], f["gamma"], f"{f['p50']:.2f}", f"{f['p90']:.2f}", f"{f['worst']:.2f}", f"{f['longest_gap']:.2f}")
        for f in figures["cases"]
    ]
    law = "; ".join(
        f"α = {alpha}: "
        + ", ".join(f"{p50:.2f}/{p99:.2f} at γ = {g}" for g, (p50, p99) in zip(GAMMAS, pairs, strict=True))
        for alpha, pairs in figures["law"].items()
    )
    return Conclusion(
        "The number of steps for n tokens has an exact law, so the cost has quantiles. P50/P99 of the cost per token "
        f"for 64 tokens, c = {C}, v(m) = 1 + {ROW}(m − 1) — {law}. Plain decoding is 1 with no spread at all.",
        f"{figures.get('responses', 24)} responses of {LENGTH} tokens, temperature 1, steps counted and charged "
        "with those costs:" + table(("draft", "γ", "P50", "P90", "worst", "longest wait between tokens"), rows),
        Finding(
            tally(answers),
            "It depends on the draft and on γ. With a good draft even the slow responses are faster than plain ones, "
            "though their spread grows with γ; with a poor one all are slower, the more the longer the drafts. The "
            "longest wait between two tokens always grows: to γc + v.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw median and P90 over gamma."""
    curves = []
    for name in DRAFTS:
        cases = [f for f in figures["cases"] if f["draft"] == name]
        curves += [
            Curve(f"{name}, {q}", GAMMAS, [f[q] for f in cases], look=look)  # type: ignore[arg-type]
            for q, look in (("p50", "line"), ("p90", "dashed"))
        ]
    return Chart(
        "Cost per token of responses of 64 tokens",
        "γ",
        "cost, plain steps",
        tuple(curves),
        lines=(("plain", 1.0),),
    )


EXPERIMENT = Experiment(
    name="tail-latency",
    title="A poor draft makes the slowest responses slower",
    claim="Poor drafts make verification times volatile and raise the P99 of latency.",
    seeds=("004",),
    kind="counted",
    instrument="Steps of the engine, charged with stated costs so that the machine's own noise does not enter: "
    "the bundled draft, and a synthetic one that is accepted one time in five.",
    literature="Chen et al. 2023: longer drafts raise the variance of the total time, so that a better mean may have a "
    "worse P90.",
    thresholds={"plain": 1.0, "c": C, "row": ROW, "tokens": LENGTH},
    measure=measure,
    conclude=conclude,
    chart=chart,
)
