"""Responses of a few tokens."""

from __future__ import annotations

from typing import Any

from minispec.experiments.framework import Conclusion, Experiment, Figures, Setting, table
from minispec.experiments.instruments import alpha, time_texts
from minispec.experiments.runs import of_each_kind
from minispec.experiments.verdicts import Finding, Interval, below, tally
from minispec.theory import response_speedup
from minispec.viz.plots.claims import Chart, Curve, with_errors

LENGTHS = (1, 2, 5, 10, 20, 50)
JUDGED = (5, 10)  # "under 20 tokens"; one or two are no response
GAMMA = 5


def measure(setting: Setting) -> Figures:
    """Time whole responses, greedy, plain and speculative in turns, with the prefill and without."""
    scale = setting.scale
    texts = of_each_kind(scale.timed)
    ways: dict[str, dict[str, Any]] = {
        "plain": {"draft": None, "temperature": 0.0},
        "speculative": {"gamma": GAMMA, "temperature": 0.0},
    }
    found = []
    for length in LENGTHS if scale.repeats > 2 else LENGTHS[:4]:
        times = time_texts(ways, texts, length, scale.text_rounds)
        found.append(
            {
                "tokens": length,
                "decode": times.faster("plain", "speculative"),
                "all": times.faster("plain", "speculative", len(JUDGED), prefill=True),
            }
        )
    costs = times.costs("plain", "speculative")  # of the longest
    accepted = alpha(times.metrics["speculative"]).value
    prompt_tokens = min(map(len, texts)), max(map(len, texts))
    return {
        "lengths": found,
        "prompt_tokens": prompt_tokens,
        **_by_formula(accepted, costs.cost_ratio, costs.verify_cost + costs.overhead),
    }


def _by_formula(alpha: float, c: float, v: float) -> dict[str, Any]:
    """Return what the formula says at these figures."""
    formula = [response_speedup(n, [alpha] * GAMMA, c, v) for n in LENGTHS]
    return {"formula": formula, "assumed": {"alpha": alpha, "c": c, "v": v}}


def conclude(figures: Figures) -> Conclusion:
    """5 and 10 tokens, whole response: each says whether speculation is slower; the tally is the verdict."""
    judged = [below(f["all"], 1.0) for f in figures["lengths"] if f["tokens"] in JUDGED]
    rows = [(f["tokens"], Interval(*f["decode"]), Interval(*f["all"])) for f in figures["lengths"]]
    formula = ", ".join(f"{value:.2f} at {n}" for n, value in zip(LENGTHS, figures["formula"], strict=True))
    at = figures["assumed"]
    fewest, most = figures.get("prompt_tokens", (8, 40))  # of the eight bundled prompts, in runs that do not say so
    short_of = ", ".join(
        f"{f['decode'][0] / value:.2f} at {f['tokens']}"
        for f, value in zip(figures["lengths"], figures["formula"], strict=False)
    )
    return Conclusion(
        "Finiteness costs a part of one step, once; with drafts cut to the room that is left there is no length below "
        "which speculation starts to lose, if it gains in the long run and v = 1. What can lose is what comes before "
        f"the first step. α = {at['alpha']:.2f}, γ = {GAMMA}, c = {at['c']:.2f}, v = {at['v']:.2f}: {formula} tokens.",
        "Greedy responses cut at a length, one set of texts, plain over speculative:"
        + table(("tokens", "decoding alone", "with prefill"), rows)
        + f"\n\nDecoding alone, measured over the formula's value: {short_of} tokens. Where it is below 1, α, c or v "
        "of short responses are worse than those.",
        Finding(
            tally(judged),
            "What short responses lack is not tokens to spread a cost over but room: the draft's prefill is paid at "
            "once and is a fixed part of the prompt's cost. The number of tokens from which it pays follows from the "
            f"prompt, not from 20: these prompts have {fewest} to {most} tokens, and longer ones have more to pay "
            "back.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the ratios over the length."""
    lengths = [f["tokens"] for f in figures["lengths"]]
    return Chart(
        "Speedup of short responses",
        "tokens of the response",
        "plain / speculative",
        (
            with_errors("decoding alone", lengths, [f["decode"] for f in figures["lengths"]]),
            with_errors("with prefill", lengths, [f["all"] for f in figures["lengths"]]),
            Curve("formula", LENGTHS, figures["formula"], look="dashed"),
        ),
        lines=(("plain", 1.0),),
        log_x=True,
    )


EXPERIMENT = Experiment(
    name="short-responses",
    title="Under 20 tokens speculation does not pay",
    claim="If the output is typically under 20 tokens, there is too little generation to pay for the draft's overhead.",
    seeds=("001",),
    kind="timed",
    instrument="The bundled pair, greedy, responses of 1 to 50 tokens to prompts of 8 to 40 tokens, with and "
    "without the prefill.",
    literature="Leviathan et al. 2023, theorem 3.8, assumes long generations; on short ones none known.",
    thresholds={"judged": JUDGED, "slower": 1.0, "gamma": GAMMA},
    measure=measure,
    conclude=conclude,
    chart=chart,
)
