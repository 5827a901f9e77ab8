"""Speculation and the time to first token."""

from __future__ import annotations

from typing import Any

from minispec.analysis.intervals import paired_ratio, simultaneous
from minispec.experiments.framework import Conclusion, Experiment, Figures, Setting, table
from minispec.experiments.instruments import time_texts, to_interval
from minispec.experiments.runs import DOMAINS, long_prompts
from minispec.experiments.verdicts import Finding, Interval, above, spell, tally
from minispec.viz.plots.claims import Chart, with_errors

LENGTHS = (16, 128, 512)
GAMMA = 5


def measure(setting: Setting) -> Figures:
    """Time prefill and first step for prompts of several lengths, plain and speculative in turns."""
    scale = setting.scale
    lengths = LENGTHS if scale.long > 100 else LENGTHS[:1]
    found = []
    for length in lengths:
        ways: dict[str, dict[str, Any]] = {
            "plain": {"draft": None, "temperature": 0.0},
            "speculative": {"gamma": GAMMA, "temperature": 0.0},
            "delayed": {"gamma": f"delayed:gamma={GAMMA}", "temperature": 0.0},
        }
        times = time_texts(ways, long_prompts(len(DOMAINS) * scale.timed, length), 16, scale.text_rounds)
        plain, *others = ([[one.ttft_s or 0.0 for one in rounds] for rounds in times.metrics[way]] for way in ways)
        gains = [to_interval(paired_ratio(plain, other, simultaneous(2 * len(lengths)))) for other in others]
        found.append({"prompt": length, "gain": gains[0], "delayed": gains[1]})
    return {"lengths": found}


def conclude(figures: Figures) -> Conclusion:
    """Each length says whether the first token comes sooner, drafted or delayed; the tally is the verdict."""
    answers = {
        f"{f['prompt']} tokens, {name}": above(f[key], 1.0)
        for f in figures["lengths"]
        for key, name in (("gain", "drafted"), ("delayed", "delayed"))
    }
    rows = [(f["prompt"], Interval(*f["gain"]), Interval(*f["delayed"])) for f in figures["lengths"]]
    return Conclusion(
        "The last row of the prefill is the law of the first token. An engine that draws from it shows the first "
        "token when the prefill ends, with speculation or without. One that drafts first adds the draft's prefill, γ "
        "draft forwards and a wider target forward. That is a choice of the engine. Here the prompt's last token has "
        "a forward of its own, and with `--gamma delayed` speculation adds nothing to it. No lossless speculation "
        "makes the first token come sooner.",
        "Time to first token, plain over speculative (above 1: speculation is sooner), drafted at once or delayed:"
        + table(("prompt tokens", f"γ = {GAMMA}", f"`delayed:gamma={GAMMA}`"), rows),
        Finding(
            tally(list(answers.values())),
            f"Sooner with speculation? {spell(answers)}. What it shortens is the time between tokens; at the first one "
            "it can at best cost nothing.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the ratio over the prompt's length."""
    return Chart(
        f"Time to first token, γ = {GAMMA}",
        "prompt, tokens",
        "plain / speculative",
        (
            with_errors("drafted at once", (), [f["gain"] for f in figures["lengths"]]),
            with_errors("delayed", (), [f["delayed"] for f in figures["lengths"]]),
        ),
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
