"""What drafts cost at the worst, under policies that adapt."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.verdicts import Finding, tally
from minispec.lab.simulate import CostModel, ScriptedModel, Text, cost_per_token, decode_company, new_policy
from minispec.lab.viz.plots.claims import PLAIN, Chart, bars

SINGLE = ("5", "5+fallback", "confidence", "heuristic", "auto", "auto+fallback")
TOGETHER = ("load", "budget")
"""For batches; here they are of one request."""
POLICIES = (*SINGLE, *TOGETHER)
ADAPTIVE = ("auto", "auto+fallback", "5+fallback", "load", "budget")
"""Those that measure what drafts bring; the verdict is about them."""
COSTS = {"c = 0.1": CostModel(draft=0.1), "c = 0.5": CostModel(draft=0.5)}
RUNS = (2, 12)
"""Tokens in a row that a draft foresees, and that it does not: beside a draft that never does, they mislead best."""
SLACK = 1.05

ABOUT = About(
    title="With a length that adapts, drafts are never slower",
    claim="A policy that watches acceptance and cost and drafts nothing where it does not pay is never slower than "
    "plain decoding, however bad the draft.",
    sources=(),
    kind="computed",
    instrument="The real engine on a simulated clock, and drafts that are always sure of themselves: never right, or "
    "right and wrong in turns of 2 and 12 tokens, which earns trust and abuses it. The worst one counts. `load` "
    "and `budget` know what rows cost.",
    literature="SmartSpec (Liu et al. 2024) claims it of average latencies: lengths chosen by goodput, 0 among them, "
    "reduce them consistently, by up to 3.2x.",
    thresholds={"slack": SLACK, "policies": ADAPTIVE, "runs": RUNS},
)


def measure(setting: Setting) -> Figures:
    """Decode short and long texts with drafts that mislead, and keep the worst cost per token."""
    lengths = (setting.scale.tokens, 8 * setting.scale.tokens)
    return {
        "lengths": lengths,
        "cases": [
            {
                "costs": costs,
                "length": length,
                "policies": {name: _find_worst(name, costs, length) for name in POLICIES},
            }
            for costs in COSTS
            for length in lengths
        ],
    }


def _find_worst(policy: str, costs: str, length: int) -> dict[str, Any]:
    """Return what the most misleading draft makes a token cost, in plain steps, and which that is."""
    scripts = {"never right": np.zeros(length + 16, bool)}
    for right in RUNS:
        for wrong in RUNS:
            scripts[f"{right} right, {wrong} wrong"] = np.arange(length + 16) % (right + wrong) < right
    found = {name: _cost(policy, script, COSTS[costs], length) for name, script in scripts.items()}
    worst = max(found, key=found.__getitem__)
    return {"cost": found[worst], "useless": found["never right"], "draft": worst}


def _cost(policy: str, script: NDArray[np.bool_], costs: CostModel, length: int) -> float:
    """Return what a token behind the first costs: by the loop of one text, or by the engine of many."""
    if policy in TOGETHER:
        return 1.0 / decode_company(script[None], length, costs, gamma=policy).whole_rate
    target, draft = ScriptedModel(np.ones_like(script[None])), ScriptedModel(script[None])
    return cost_per_token(target, draft, Text([[0]], length + 1), new_policy(policy), costs)


def conclude(figures: Figures) -> Conclusion:
    """Each policy that adapts, cost of drafting and length asks whether its worst draft costs at most 5 % over plain.

    The tally is the verdict.
    """
    cases = figures["cases"]
    worst = {name: max(case["policies"][name]["cost"] for case in cases) for name in ADAPTIVE}
    words = [
        f"{max(case['policies'][name]['cost'] for case in cases for name in ADAPTIVE if case['length'] == length):.2f} "
        f"over {length} tokens"
        for length in figures["lengths"]
    ]
    kept = [name for name in ADAPTIVE if worst[name] <= SLACK]
    rows = [
        (
            name,
            *(f"{case['policies'][name]['cost']:.3f} ({case['policies'][name]['useless']:.3f})" for case in cases),
        )
        for name in POLICIES
    ]
    return Conclusion(
        "A step with γ wrong drafts costs γc + v(γ + 1) and yields one token, as a plain step does for 1. Nobody can "
        "tell that a draft is bad without drafting, so no policy that drafts at all costs 1 at the worst. It can only "
        "bound what finding out takes.",
        "Cost per token of the worst draft in plain steps, v(m) = 1 + 0.05(m − 1); in brackets that of a draft that is "
        "never right:" + table(("policy", *(f"{case['costs']}, {case['length']} tokens" for case in cases)), rows),
        Finding(
            tally([case["policies"][name]["cost"] <= SLACK for case in cases for name in ADAPTIVE]),
            f"At the worst a token costs {' and '.join(words)}: finding out takes some steps, which weigh more in a "
            f"short text and with a dear draft. Within 5 % in every case: {', '.join(kept) or 'none'}. At the worst "
            + ", ".join(f"`{name}` {cost:.2f}" for name, cost in worst.items())
            + ". A policy that looks at the draft's own confidence alone has no such bound: a draft that is sure and "
            "wrong is drafted on.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the worst costs."""
    return bars(
        "Cost per token with the worst draft",
        "policy",
        "plain steps",
        ADAPTIVE,
        {
            f"{case['costs']}, {case['length']} tokens": [case["policies"][name]["cost"] for name in ADAPTIVE]
            for case in figures["cases"]
        },
        lines=PLAIN,
    )
