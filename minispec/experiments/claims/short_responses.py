"""Responses of a few tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minispec.analysis.timer import interleave
from minispec.experiments.framework import Conclusion, Experiment, Figures, Setting, table
from minispec.experiments.instruments import decode, one_of_each, ratios
from minispec.experiments.verdicts import Interval, Verdict, below, tally
from minispec.theory import response_speedup
from minispec.viz.plots.claims import Chart, Curve, with_errors

LENGTHS = (1, 2, 5, 10, 20, 50)
JUDGED = (5, 10)  # "under 20 tokens"; one or two are no response
GAMMA = 5


def measure(setting: Setting) -> Figures:
    """Time whole responses, greedy, plain and speculative in turns, with the prefill and without."""
    texts = one_of_each()
    found = []
    for length in LENGTHS if setting.scale.repeats > 2 else LENGTHS[:4]:
        decoding: dict[str, list[float]] = {"plain": [], "speculative": []}
        whole = interleave(
            {
                "plain": _seconds(texts, length, decoding["plain"], draft=None),
                "speculative": _seconds(texts, length, decoding["speculative"], gamma=GAMMA),
            },
            setting.scale.repeats,
        )
        found.append(
            {
                "tokens": length,
                "decode": ratios(decoding, "plain", "speculative"),
                "all": ratios(whole, "plain", "speculative"),
            }
        )
    formula = [response_speedup(n, [0.7] * GAMMA, 0.1, 1.2) for n in LENGTHS]
    return {"lengths": found, "formula": formula}


def _seconds(texts: list[tuple[int, ...]], length: int, decoding: list[float], **options: Any) -> Callable[[], float]:
    """Return a candidate that yields the seconds of whole responses and notes those of decoding alone."""

    def once() -> float:
        made = [decode(text, length, temperature=0.0, **options).metrics for text in texts]
        decoding.append(sum(one.decode_s for one in made))
        return decoding[-1] + sum(one.prefill_s for one in made)

    return once


def conclude(figures: Figures) -> Conclusion:
    """5 and 10 tokens, whole response: each says whether speculation is slower; the tally is the verdict."""
    judged = [below(f["all"], 1.0) for f in figures["lengths"] if f["tokens"] in JUDGED]
    rows = [(f["tokens"], Interval(*f["decode"]), Interval(*f["all"])) for f in figures["lengths"]]
    formula = ", ".join(f"{value:.2f} at {n}" for n, value in zip(LENGTHS, figures["formula"], strict=True))
    return Conclusion(
        "Finiteness costs about half a step, once; with drafts cut to the room that is left there is no length below "
        "which speculation starts to lose, if it gains in the long run and v = 1. What can lose is what comes before "
        f"the first step. α = 0.7, γ = {GAMMA}, c = 0.1, v = 1.2: {formula} tokens.",
        "Greedy responses cut at a length, one set of texts, plain over speculative:"
        + table(("tokens", "decoding alone", "with prefill"), rows),
        Verdict(
            tally(judged),
            "What short responses lack is not tokens to spread a cost over but room: the draft's prefill is paid at "
            "once and is a fixed part of the prompt's cost. The number of tokens from which it pays follows from the "
            "prompt, not from 20.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the ratios over the length."""
    lengths = [f["tokens"] for f in figures["lengths"]]
    return Chart(
        "Speedup of short responses", "tokens of the response", "plain / speculative",
        (
            with_errors("decoding alone", lengths, [f["decode"] for f in figures["lengths"]]),
            with_errors("with prefill", lengths, [f["all"] for f in figures["lengths"]]),
            Curve("formula (α 0.7, c 0.1, v 1.2)", LENGTHS, figures["formula"], look="dashed"),
        ),
        lines=(("plain", 1.0),), log_x=True,
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="short-responses",
    title="Under 20 tokens speculation does not pay",
    claim="If the output is typically under 20 tokens, there is too little generation to pay for the draft's overhead.",
    seeds=("001",),
    kind="timed",
    instrument="The bundled pair, greedy, responses of 1 to 50 tokens to prompts of 8 to 40 tokens, with and "
    "without the prefill.",
    measure=measure,
    conclude=conclude,
    chart=chart,
)
