"""Responses of a few tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.instruments import alpha, time_texts
from minispec.lab.ledger.runs import long_prompts, of_each_kind
from minispec.lab.ledger.verdicts import Finding, Interval, below, tally
from minispec.lab.viz.plots.claims import PLAIN, Chart, Curve
from minispec.theory import response_speedup

LENGTHS = (2, 5, 10, 20, 50)  # of one token nothing is decoded: the prefill gives it
JUDGED = (5, 10)  # "under 20 tokens"; two are no response
LONG_PROMPT = 512
GAMMA = 5

ABOUT = About(
    title="Under 20 tokens speculation does not pay",
    claim="If the output is typically under 20 tokens, there is too little generation to pay for the draft's overhead.",
    sources=("pan-practice",),
    kind="timed",
    instrument=f"The bundled pair, greedy: responses of 2 to 50 tokens to the held-out prompts, with and without the "
    f"prefill, and of 5 and 10 tokens to prompts of {LONG_PROMPT}.",
    literature="Leviathan et al. 2023, theorem 3.8, assumes long generations; on short ones none known.",
    thresholds={"judged": JUDGED, "long_prompt": LONG_PROMPT, "slower": 1.0, "gamma": GAMMA},
)


def measure(setting: Setting) -> Figures:
    """Time whole responses, greedy, plain and speculative in turns, behind short prompts and behind long ones."""
    scale, judged = setting.scale, 2 * len(JUDGED)
    texts = of_each_kind(scale.timed)
    ways: dict[str, dict[str, Any]] = {
        "plain": {"draft": None, "temperature": 0.0},
        "speculative": {"gamma": GAMMA, "temperature": 0.0},
    }
    found = []
    lengths = LENGTHS if scale.repeats > 2 else LENGTHS[:3]
    for length in lengths:
        times = time_texts(ways, texts, length, scale.text_rounds)
        found.append(
            {
                "tokens": length,
                "decode": times.faster("plain", "speculative"),
                "all": times.faster("plain", "speculative", judged, prefill=True),
            }
        )
    costs = times.costs("plain", "speculative")  # of the longest
    accepted = alpha(times.metrics["speculative"]).value
    prompt_tokens = min(map(len, texts)), max(map(len, texts))
    long = min(LONG_PROMPT, scale.long)
    behind_long = [
        {
            "tokens": length,
            "all": time_texts(ways, long_prompts(len(texts), long), length, scale.text_rounds).faster(
                "plain", "speculative", judged, prefill=True
            ),
        }
        for length in JUDGED
    ]
    return {
        "lengths": found,
        "long_prompt": long,
        "behind_long": behind_long,
        "prompt_tokens": prompt_tokens,
        **_by_formula(lengths, accepted, costs.cost_ratio, costs.verify_cost + costs.overhead),
    }


def _by_formula(lengths: Sequence[int], alpha: float, c: float, v: float) -> dict[str, Any]:
    """Return what the formula says at these figures of the tokens behind the first."""
    formula = [response_speedup(n - 1, [alpha] * GAMMA, c, v) for n in lengths]
    return {"formula": formula, "assumed": {"alpha": alpha, "c": c, "v": v}}


def conclude(figures: Figures) -> Conclusion:
    """5 and 10 tokens, whole response, short prompts and long: each says if speculation is slower; the tally."""
    short = [f for f in figures["lengths"] if f["tokens"] in JUDGED]
    judged = [below(f["all"], 1.0) for f in (*short, *figures["behind_long"])]
    rows = [(f["tokens"], f["decode"], f["all"]) for f in figures["lengths"]]
    measured = list(zip(figures["lengths"], figures["formula"], strict=True))
    formula = ", ".join(f"{value:.2f} at {f['tokens']}" for f, value in measured)
    at = figures["assumed"]
    fewest, most = figures["prompt_tokens"]
    behind_long = ", ".join(f"{Interval(*f['all'])} at {f['tokens']}" for f in figures["behind_long"])
    short_of = ", ".join(f"{f['decode'][0] / value:.2f} at {f['tokens']}" for f, value in measured)
    return Conclusion(
        "Finiteness costs a part of one step, once; with drafts cut to the room that is left there is no length below "
        "which speculation starts to lose, if it gains in the long run and v = 1. What can lose is what comes before "
        f"the first step. α = {at['alpha']:.2f}, γ = {GAMMA}, c = {at['c']:.2f}, v = {at['v']:.2f}: {formula} tokens.",
        f"Greedy responses cut at a length, one set of texts, prompts of {fewest} to {most} tokens, plain over "
        "speculative:"
        + table(("tokens", "decoding alone", "with prefill"), rows)
        + f"\n\nDecoding alone, measured over the formula's value: {short_of} tokens. Where it is below 1, α, c or v "
        f"of short responses are worse than those.\n\nBehind prompts of {figures['long_prompt']} tokens, with prefill: "
        f"{behind_long} tokens.",
        Finding(
            tally(judged),
            "The overhead to be paid back is the draft's prefill, which grows with the prompt, not with the response: "
            "the number of tokens from which speculation pays follows from the prompt, and is no constant.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the ratios over the length."""
    lengths = [f["tokens"] for f in figures["lengths"]]
    return Chart(
        "Speedup of short responses",
        "tokens of the response",
        "speedup",
        (
            Curve("decoding alone", lengths, [f["decode"] for f in figures["lengths"]]),
            Curve("with prefill", lengths, [f["all"] for f in figures["lengths"]]),
            Curve("formula", lengths, figures["formula"], look="dashed"),
        ),
        lines=PLAIN,
        log_x=True,
    )
