"""What speculation does to the slowest responses."""

from __future__ import annotations

import numpy as np

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.instruments import average_clusters, charge_steps
from minispec.lab.ledger.runs import DOMAINS, decode_all
from minispec.lab.ledger.verdicts import Finding, above, tally
from minispec.lab.viz.plots.claims import PLAIN, Chart, Curve
from minispec.theory import steps_law, tokens_law

GAMMAS = (1, 5)
TAIL = 0.01
"""Of a hundred responses one is the slowest: a larger share above plain decoding is a P99 above it."""
C, ROW = 0.1, 0.05  # a draft token; each further row of a verifying pass
LENGTH = 64
DRAFTS = {"bundled draft": "draft-1.6m", "poor draft (α = 0.2)": "synthetic:alpha=0.2"}

ABOUT = About(
    title="A poor draft makes the slowest responses slower",
    claim="Poor drafts make verification times volatile and raise the P99 of latency.",
    sources=("kumkar",),
    kind="counted",
    instrument="Steps of the engine, charged with stated costs so that the machine's own noise does not enter: "
    "the bundled draft, and a synthetic one that is accepted one time in five.",
    literature="Chen et al. 2023: longer drafts raise the variance of the total time, so that a better mean may have a "
    "worse P90.",
    thresholds={"plain": 1.0, "tail": TAIL, "c": C, "row": ROW, "tokens": LENGTH},
)


def _v(rows: int) -> float:
    return 1.0 + ROW * (rows - 1)


def measure(setting: Setting) -> Figures:
    """Charge each response of 64 tokens with stated costs; compare the slow ones with the median."""
    length = min(LENGTH, setting.scale.tokens)
    found = []
    for name, draft in DRAFTS.items():
        for gamma in GAMMAS:
            texts = [
                of_text
                for domain in DOMAINS
                for of_text in decode_all(domain, setting.scale, length, draft=draft, gamma=gamma)
            ]
            costs = [[sum(charge_steps(run, C, _v)) / run.num_decode_tokens for run in runs] for runs in texts]
            per_token = np.concatenate(costs)
            found.append(
                {
                    "draft": name,
                    "gamma": gamma,
                    "p50": float(np.median(per_token)),
                    "p99": float(np.quantile(per_token, 1.0 - TAIL)),
                    "worst": float(per_token.max()),
                    "slower": average_clusters([np.asarray(each) > 1.0 for each in costs], of=len(DRAFTS)),
                    "longest_gap": gamma * C + _v(gamma + 1),
                }
            )
    behind = LENGTH - 1  # the first token is the prefill's
    law = {
        f"{alpha}": [
            [
                steps_law(behind, tokens_law(alpha, gamma)).quantile(q) * (gamma * C + _v(gamma + 1)) / behind
                for q in (0.5, 0.99)
            ]
            for gamma in GAMMAS
        ]
        for alpha in (0.2, 0.7)
    }
    return {"cases": found, "responses": len(per_token), "law": law}


def conclude(figures: Figures) -> Conclusion:
    """Each draft at gamma 5 says if over one response in a hundred is slower than plain; tallied."""
    answers = [above(f["slower"], TAIL) for f in figures["cases"] if f["gamma"] == 5]
    rows = [
        (f["draft"], f["gamma"], *(f"{f[key]:.2f}" for key in ("p50", "p99", "worst")), f["slower"],
         f"{f['longest_gap']:.2f}")
        for f in figures["cases"]
    ]  # fmt: skip
    law = "; ".join(
        f"α = {alpha}: "
        + ", ".join(f"{p50:.2f}/{p99:.2f} at γ = {g}" for g, (p50, p99) in zip(GAMMAS, pairs, strict=True))
        for alpha, pairs in figures["law"].items()
    )
    return Conclusion(
        "The number of steps for n tokens has an exact law, so the cost has quantiles. P50/P99 of the cost per token "
        f"for 64 tokens, c = {C}, v(m) = 1 + {ROW}(m − 1) — {law}. Plain decoding is 1 with no spread at all.",
        f"{figures['responses']} responses of {LENGTH} tokens, temperature 1, steps counted and charged "
        "with those costs:"
        + table(("draft", "γ", "P50", "P99", "worst", "share slower than plain", "longest wait between tokens"), rows),
        Finding(
            tally(answers),
            "Slower than plain decoding: "
            + "; ".join(
                f"{name} "
                + ", ".join(
                    f"{100 * f['slower'][0]:.1f} % at γ = {f['gamma']}" for f in figures["cases"] if f["draft"] == name
                )
                for name in DRAFTS
            )
            + ". A verification has γ + 1 rows whatever the draft is like, so what varies is not its time but what a "
            "step yields. The longest wait between two tokens always grows: to γc + v.",
        ),
        judged=[f["slower"] for f in figures["cases"] if f["gamma"] == 5],
    )


def chart(figures: Figures) -> Chart:
    """Draw median and P99 over gamma."""
    curves = []
    for name in DRAFTS:
        cases = [f for f in figures["cases"] if f["draft"] == name]
        curves += [
            Curve(f"{name}, {q}", GAMMAS, [f[q] for f in cases], look=look)  # type: ignore[arg-type]
            for q, look in (("p50", "line"), ("p99", "dashed"))
        ]
    return Chart("Cost per token of responses of 64 tokens", "γ", "cost, plain steps", tuple(curves), lines=PLAIN)
