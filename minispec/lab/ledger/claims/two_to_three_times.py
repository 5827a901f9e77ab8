"""How many times as fast speculation is."""

from __future__ import annotations

from typing import Any

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.instruments import time_texts
from minispec.lab.ledger.runs import DOMAINS, prompts
from minispec.lab.ledger.verdicts import Finding, above, tally
from minispec.lab.viz.plots.claims import PLAIN, Chart, bars

GAMMAS = (2, 5)
TEMPERATURES = (0.0, 1.0)

ABOUT = About(
    title="Speculation is two to three times as fast",
    claim="Speculative decoding lowers latency by a factor of two to three at unchanged quality.",
    sources=("pan-streaming", "pan-practice", "day-05", "nikolatesla", "kumkar"),
    kind="timed",
    instrument="The bundled pair, batch 1, three kinds of text at two temperatures; plain and speculative take turns.",
    literature="Leviathan et al. 2023, table 2: 1.4x to 3.4x over twelve settings; Chen et al. 2023: 1.92x to 2.46x; "
    "vLLM's blog (2024): 1.5x at one request a second, 1.4x to 1.8x slower at many.",
    thresholds={"wanted": 2.0, "gammas": GAMMAS},
)


def measure(setting: Setting) -> Figures:
    """Time plain and speculative decoding of texts of each kind, in turns."""
    scale = setting.scale
    ways: dict[str, dict[str, Any]] = {"0": {"draft": None}, **{str(gamma): {"gamma": gamma} for gamma in GAMMAS}}
    comparisons = len(TEMPERATURES) * len(DOMAINS) * len(GAMMAS)
    found = []
    for temperature in TEMPERATURES:
        for domain in DOMAINS:
            given = {name: {"temperature": temperature, **options} for name, options in ways.items()}
            times = time_texts(given, prompts(domain, scale.timed), scale.tokens, scale.text_rounds)
            found.append(
                {
                    "domain": domain,
                    "temperature": temperature,
                    "speedup": {str(gamma): times.faster("0", str(gamma), comparisons) for gamma in GAMMAS},
                }
            )
    return {"cases": found}


def conclude(figures: Figures) -> Conclusion:
    """Each case says whether the better of the two draft lengths reaches 2x; the tally is the verdict."""
    best = [max(f["speedup"].values(), key=lambda s: s[0]) for f in figures["cases"]]
    rows = [(f["domain"], f["temperature"], *(f["speedup"][str(g)] for g in GAMMAS)) for f in figures["cases"]]
    values = [b[0] for b in best]
    return Conclusion(
        "η = τ / (γc + v). For 2x at γ = 5 with, say, c = 0.2 and v = 1.5, a step must yield 5 tokens of at most 6: α "
        "≥ 0.93. With c = 0.05 and v = 1 it is 2.5 tokens: α ≥ 0.63.",
        "The bundled pair, seconds per token, plain over speculative, taking turns:"
        + table(("text", "temperature", *(f"γ = {g}" for g in GAMMAS)), rows),
        Finding(
            tally([above(b, 2.0) for b in best]),
            f"Between {min(values):.2f}x and {max(values):.2f}x for one pair on one machine, by text and temperature, "
            "with the better of two draft lengths chosen in hindsight: no single figure describes the technique."
            + (" This draft costs too large a part of so small a target for more." if max(values) < 2 else ""),
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the speedups at gamma 5."""
    return bars(
        "Measured speedup of the bundled pair, γ = 5",
        "text",
        "speedup",
        DOMAINS,
        {
            f"temperature {t:g}": [f["speedup"]["5"] for f in figures["cases"] if f["temperature"] == t]
            for t in TEMPERATURES
        },
        bands=(("claimed", 2.0, 3.0),),
        lines=PLAIN,
    )
