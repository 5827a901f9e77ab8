"""Speculation and the time to first token."""

from __future__ import annotations

from typing import Any

from minispec.analysis.intervals import paired_ratio, simultaneous
from minispec.experiments.framework import Conclusion, Experiment, Figures, Setting, table
from minispec.experiments.instruments import time_texts, to_interval
from minispec.experiments.runs import DOMAINS, of_each_kind
from minispec.experiments.verdicts import Finding, Interval, above, spell, tally
from minispec.viz.plots.claims import Chart, with_errors

LENGTHS = (16, 128, 512)
GAMMA = 5


def measure(setting: Setting) -> Figures:
    """Time prefill and first step for prompts of several lengths, plain and speculative in turns."""
    scale = setting.scale
    text = [token for prompt in of_each_kind(scale.timed) for token in prompt]
    num_texts = len(DOMAINS) * scale.timed
    lengths = LENGTHS if scale.long > 100 else LENGTHS[:1]
    found = []
    for length in lengths:
        turned = [text[i * len(text) // num_texts :] + text[: i * len(text) // num_texts] for i in range(num_texts)]
        texts = [(one * (1 + length // len(one)))[:length] for one in turned]
        ways: dict[str, dict[str, Any]] = {
            "plain": {"draft": None, "temperature": 0.0},
            "speculative": {"gamma": GAMMA, "temperature": 0.0},
        }
        times = time_texts(ways, texts, 16, scale.text_rounds)
        plain, fast = ([[one.ttft_s or 0.0 for one in rounds] for rounds in times.metrics[way]] for way in ways)
        found.append({"prompt": length, "gain": to_interval(paired_ratio(plain, fast, simultaneous(len(lengths))))})
    return {"lengths": found}


def conclude(figures: Figures) -> Conclusion:
    """Each length says whether the first token comes sooner with speculation; the tally is the verdict."""
    answers = {f"{f['prompt']} tokens": above(f["gain"], 1.0) for f in figures["lengths"]}
    rows = [(f["prompt"], Interval(*f["gain"])) for f in figures["lengths"]]
    return Conclusion(
        "The last row of the prefill is the law of the first token. An engine that draws from it shows the first "
        "token when the prefill ends, with speculation or without. One that drafts first adds the draft's prefill, γ "
        "draft forwards and a wider target forward. That is a choice of the engine (here: `--gamma delayed`); no "
        "speculation makes the first token come sooner.",
        "Time to first token, plain over speculative (above 1: speculation is sooner):"
        + table(("prompt tokens", "plain / speculative"), rows),
        Finding(
            tally(list(answers.values())),
            f"Sooner with speculation? {spell(answers)}. What it shortens is the time between tokens; at the first one "
            "it can at best cost nothing.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the ratio over the prompt's length."""
    return Chart(
        "Time to first token, γ = 5",
        "prompt, tokens",
        "plain / speculative",
        (with_errors("bundled pair", (), [f["gain"] for f in figures["lengths"]]),),
        categories=[str(f["prompt"]) for f in figures["lengths"]],
        lines=(("as soon as plain", 1.0),),
    )


EXPERIMENT = Experiment(
    name="first-token",
    title="Ideal where the time to first token matters",
    claim="Speculation is ideal for interactive use, where one cares about the time to first token and between tokens.",
    seeds=("001",),
    kind="timed",
    instrument="The bundled pair on prompts of three lengths, prefill and first step timed in turns.",
    literature="None known that measures it; the papers count the time between tokens.",
    thresholds={"sooner": 1.0, "gamma": GAMMA, "lengths": LENGTHS},
    measure=measure,
    conclude=conclude,
    chart=chart,
)
