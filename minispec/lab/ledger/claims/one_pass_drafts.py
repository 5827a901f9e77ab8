"""All tokens of a draft in one pass, or one after another."""

from __future__ import annotations

from minispec.lab.ledger.contests import (
    COLUMNS,
    GAMMAS,
    TEMPERATURES,
    hold_contest,
    name_chain,
    offer_chains,
    tell,
    warm_up,
)
from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.verdicts import Finding, Interval, above, spell, tally
from minispec.lab.viz.plots.claims import PLAIN, Chart, bars

SERIAL, PARALLEL = "eagle", "block"
GAMMA = 5  # of both, where tokens per pass and costs are compared

ABOUT = About(
    title="Drafting all tokens in one pass beats one after another",
    claim="A draft that guesses all its tokens in one pass is faster than one of its size that draws them one after "
    "another.",
    sources=(),
    kind="timed",
    instrument="The bundled heads block and eagle, of one size and trained for drafts of five tokens, each with a "
    "training of its own, and plain decoding, taking turns, float32, on three kinds of text at two temperatures; draft "
    "lengths are chosen on prompts that are not those of the verdict.",
    literature="DFlash (Chen et al. 2026) claims it, and reports more than 6x, up to 2.5 times what EAGLE-3 gains; "
    "PARD (An et al. 2025) 3.67x for Llama 3.1 8B in vLLM, 1.15 times as fast as EAGLE-3. The other way round, EAGLE "
    "(Li et al. 2024), token after token, is 1.6 times as fast as Medusa (Cai et al. 2024), one pass, by its authors' "
    "figures for a 13B model.",
    thresholds={"faster": 1.0, "gamma": GAMMA, "gammas": GAMMAS},
)


def measure(setting: Setting) -> Figures:
    """Time two heads of one size in turns, at one draft length and at each one's best."""
    warm_up([SERIAL, PARALLEL])
    serial, parallel = (name_chain(name, GAMMA) for name in (SERIAL, PARALLEL))
    comparisons = len(TEMPERATURES)
    found = []
    for temperature in TEMPERATURES:
        contest = hold_contest(
            {name: offer_chains(name) for name in (SERIAL, PARALLEL)}, temperature, setting.scale, (serial, parallel)
        )
        times, best = contest.times, contest.best
        found.append(
            {
                "temperature": temperature,
                "heads": [contest.describe(name, comparisons) for name in (SERIAL, PARALLEL)],
                "cheaper": times.cheaper(serial, parallel, comparisons),
                "longer": times.longer(serial, parallel, comparisons),
                "faster": times.faster(best[SERIAL], best[PARALLEL], comparisons),
            }
        )
    return {"cases": found}


def conclude(figures: Figures) -> Conclusion:
    """Each temperature says whether the parallel head is faster end to end, each at its best γ; tally: verdict."""
    answers = {f"T = {f['temperature']:g}": above(f["faster"], 1.0) for f in figures["cases"]}
    rows = [tell(f["temperature"], head) for f in figures["cases"] for head in f["heads"]]
    compared = [
        (f"{f['temperature']:g}", *(Interval(*f[key]) for key in ("cheaper", "longer", "faster")))
        for f in figures["cases"]
    ]
    return Conclusion(
        "η = τ / (γc + v). In one pass a draft costs one pass of the head and little more, c′, whatever γ is; but a "
        "place sees at most the token drawn before it, and τ′ is smaller where the text is open. One pass wins if "
        "τ′/τ > (c′ + v)/(γc + v): where drafting is a small part of a step, it may hardly lose a token.",
        "Two heads of one size, each with the draft length that was fastest for it on other prompts:"
        + table(COLUMNS, rows)
        + f"\n\n`{PARALLEL}` beside `{SERIAL}`, the first two columns with γ = {GAMMA} for both:"
        + table(("temperature", "drafted token cheaper", "tokens per pass more", "faster"), compared),
        Finding(
            tally(list(answers.values())),
            f"Faster? {spell(answers)}. With γ = {GAMMA}, "
            + ", ".join(
                f"at T = {f['temperature']:g} one pass costs {1 / f['cheaper'][0]:.2f} times what {GAMMA} passes do, "
                f"and a step makes {abs(f['longer'][0]):.2f} tokens {'more' if f['longer'][0] > 0 else 'fewer'}"
                for f in figures["cases"]
            )
            + ". One pass saves passes of the head, and those are only a part of a step.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the speedups, each with its own best draft length."""
    return bars(
        "Two heads of one size, each at its best γ",
        "temperature",
        "speedup",
        [f"{f['temperature']:g}" for f in figures["cases"]],
        {
            f"{label} ({name})": [f["heads"][i]["speedup"] for f in figures["cases"]]
            for i, (label, name) in enumerate((("token after token", SERIAL), ("one pass", PARALLEL)))
        },
        lines=PLAIN,
    )
