"""Speculation and the time to first token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minispec.analysis.timer import interleave
from minispec.experiments.framework import Conclusion, Experiment, Figures, Setting, table
from minispec.experiments.instruments import decode, prompts, ratios
from minispec.experiments.verdicts import Interval, Verdict, above, spell, tally
from minispec.viz.plots.claims import Chart, with_errors

LENGTHS = (16, 128, 512)
GAMMA = 5


def measure(setting: Setting) -> Figures:
    """Time prefill and first step for prompts of several lengths, plain and speculative in turns."""
    text = [token for prompt in prompts("stories", 8) for token in prompt]
    found = []
    for length in LENGTHS if setting.scale.long > 100 else LENGTHS[:1]:
        prompt = (text * (1 + length // len(text)))[:length]
        runs = {
            "plain": _first(prompt, draft=None),
            "speculative": _first(prompt, gamma=GAMMA),
        }
        times = interleave(runs, 2 * setting.scale.repeats)
        found.append({"prompt": length, "gain": ratios(times, "plain", "speculative")})
    return {"lengths": found}


def _first(prompt: list[int], **options: Any) -> Callable[[], float]:
    def once() -> float:
        return decode(prompt, 16, temperature=0.0, **options).metrics.ttft_s or 0.0

    return once


def conclude(figures: Figures) -> Conclusion:
    """Each length says whether the first token comes sooner with speculation; the tally is the verdict."""
    answers = {f"{f['prompt']} tokens": above(f["gain"], 1.0) for f in figures["lengths"]}
    rows = [(f["prompt"], Interval(*f["gain"])) for f in figures["lengths"]]
    return Conclusion(
        "Plain: the target's prefill and one forward. Speculative: the draft's prefill as well, then γ draft forwards "
        "and a wider target forward. Every term is added; the first token can only come later.",
        "Time to first token, plain over speculative (above 1: speculation is sooner):"
        + table(("prompt tokens", "plain / speculative"), rows),
        Verdict(
            tally(list(answers.values())),
            f"Sooner with speculation? {spell(answers)}. What it shortens is the time between tokens; to the first one "
            "it only adds.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the ratio over the prompt's length."""
    return Chart(
        "Time to first token, γ = 5", "prompt, tokens", "plain / speculative",
        (with_errors("bundled pair", (), [f["gain"] for f in figures["lengths"]]),),
        categories=[str(f["prompt"]) for f in figures["lengths"]],
        lines=(("as soon as plain", 1.0),),
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="first-token",
    title="Ideal where the time to first token matters",
    claim="Speculation is ideal for interactive use, where one cares about the time to first token and between tokens.",
    seeds=("001",),
    kind="timed",
    instrument="The bundled pair on prompts of three lengths, prefill and first step timed in turns.",
    measure=measure,
    conclude=conclude,
    chart=chart,
)
