"""Speculation and the time to first token."""

from __future__ import annotations

from typing import Any

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.instruments import time_texts, to_interval
from minispec.lab.ledger.runs import DOMAINS, long_prompts
from minispec.lab.ledger.verdicts import Finding, Interval, above, inside, spell, tally
from minispec.lab.viz.plots.claims import Chart, bars
from minispec.theory.intervals import paired_ratio, simultaneous

LENGTHS = (16, 128, 512)
GAMMA = 5
SOONER = 1.05  # less is no gain, whatever the figures can tell apart
AS_SOON = (0.95, 1.05)

ABOUT = About(
    title="Ideal where the time to first token matters",
    claim="Speculation is ideal for interactive use, where one cares about the time to first token and between tokens.",
    sources=("pan-practice",),
    kind="timed",
    instrument="The bundled pair on prompts of three lengths, until the first token is there, timed in turns.",
    literature="None known that measures it; the papers count the time between tokens.",
    thresholds={"sooner": SOONER, "as_soon": AS_SOON, "gamma": GAMMA, "lengths": LENGTHS},
)


def measure(setting: Setting) -> Figures:
    """Time the first token behind prompts of several lengths, plain and speculative in turns."""
    scale = setting.scale
    lengths = LENGTHS if scale.long > 100 else LENGTHS[:1]
    ways: dict[str, dict[str, Any]] = {
        "plain": {"draft": None, "temperature": 0.0},
        "speculative": {"gamma": GAMMA, "temperature": 0.0},
    }
    found = []
    for length in lengths:
        times = time_texts(ways, long_prompts(len(DOMAINS) * scale.timed, length), 16, scale.text_rounds)
        plain, speculative = ([[one.ttft_s or 0.0 for one in rounds] for rounds in times.metrics[way]] for way in ways)
        sooner = to_interval(paired_ratio(plain, speculative, simultaneous(len(lengths))))
        found.append({"prompt": length, "sooner": sooner})
    return {"lengths": found}


def conclude(figures: Figures) -> Conclusion:
    """Each length says whether the first token comes over 5 % sooner, all of its interval counted; tally: the verdict.

    As soon as plain is what lies within 5 % of it, all of the interval: no gain, and no loss.
    """
    found = {f"{f['prompt']} tokens": Interval(*f["sooner"]) for f in figures["lengths"]}
    answers = {name: above(figure, SOONER) for name, figure in found.items()}
    as_soon = {name: inside(figure, *AS_SOON) for name, figure in found.items()}
    nothing = "So speculation costs the first token nothing, and gains it nothing. " if all(as_soon.values()) else ""
    return Conclusion(
        "The last row of the prefill is the law of the first token. The engine draws from it, with speculation or "
        "without, and the draft model reads the prompt behind it; no lossless speculation makes it come sooner. An "
        "engine that drafts before its first token adds the draft's prefill, γ draft passes and a wider target "
        "pass.",
        "Time to first token, plain over speculative (above 1: speculation is sooner):"
        + table(("prompt tokens", f"γ = {GAMMA}"), [(f["prompt"], f["sooner"]) for f in figures["lengths"]]),
        Finding(
            tally(list(answers.values())),
            f"Over {SOONER - 1.0:.0%} sooner with speculation? {spell(answers)}. As soon as plain, within "
            f"{SOONER - 1.0:.0%}? {spell(as_soon)}. {nothing}What speculation shortens is the time between tokens.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the ratio over the prompt's length."""
    return bars(
        f"Time to first token, γ = {GAMMA}",
        "prompt, tokens",
        "speedup",
        [str(f["prompt"]) for f in figures["lengths"]],
        {"speculative": [f["sooner"] for f in figures["lengths"]]},
        lines=(("as soon as plain", 1.0),),
        bands=(("within 5 %", *AS_SOON),),
    )
