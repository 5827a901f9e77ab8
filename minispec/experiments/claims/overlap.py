"""Drafting while the target verifies."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from minispec.experiments.framework import Conclusion, Experiment, Figures, Setting, table
from minispec.experiments.instruments import Row, average_clusters, join
from minispec.experiments.runs import DOMAINS, Run, decode_all
from minispec.experiments.verdicts import Finding, Interval, above, tally
from minispec.theory import ahead_speedup
from minispec.viz.plots.claims import Chart, with_errors

GAMMAS = (1, 2, 3, 5)
COSTS = ((0.05, 1.0), (0.2, 1.5), (0.5, 1.0))
WORTH = 1.1


def measure(setting: Setting) -> Figures:
    """Count how often a draft made ahead would have been usable: all accepted, and the next token guessed as well."""
    found = []
    for gamma in GAMMAS:
        usable: list[Row] = []
        for domain in DOMAINS:
            # gamma + 1 drafts: the last one is the draft's guess of what the target adds after gamma acceptances
            texts = decode_all(domain, setting.scale, gamma=gamma + 1, temperature=0.0)
            usable += join(texts, partial(_find_usable, count=gamma + 1))
        found.append({"gamma": gamma, "usable": average_clusters(usable, of=len(GAMMAS))})
    return {"cases": found, "costs": COSTS}


def _find_usable(run: Run, count: int) -> NDArray[np.bool_]:
    """Return of which steps with so many drafts all were accepted."""
    usable: NDArray[np.bool_] = run.accepted[run.drafted == count] == count
    return usable


def _gains(figures: Figures) -> list[list[Interval]]:
    """Return, for each gamma and each pair of costs, what drafting ahead gains at the share that is of use."""
    gains = []
    for f in figures["cases"]:
        shares = [min(1.0, usable) for usable in f["usable"]]
        gains.append([Interval(*(ahead_speedup(f["gamma"], c, v, u) for u in shares)) for c, v in figures["costs"]])
    return gains


def conclude(figures: Figures) -> Conclusion:
    """Each pair of costs says whether some gamma gains a tenth, were nothing lost by sharing; tallied."""
    gains = _gains(figures)
    answers = [tally([above(gain, WORTH) for gain in column]) for column in zip(*gains, strict=True)]
    reached = [{"holds here": True, "depends": True, "false": False}.get(word) for word in answers]
    rows = [
        (f["gamma"], Interval(*f["usable"]), *(f"{gain.value:.2f}" for gain in of_gamma))
        for f, of_gamma in zip(figures["cases"], gains, strict=True)
    ]
    return Conclusion(
        "Without overlap a step takes γc + v. A draft made during verification takes γ + 1 forwards, one to guess the "
        "target's own token. If it is of use the step takes max(v, (γ + 1)c); if not it is given up when the verdict "
        "is there, and the step takes γc + v as ever. Made for one outcome, that all is accepted and the guess "
        "right, it is of use with probability of about α^(γ+1); drafts for several outcomes (speculative speculative "
        "decoding) raise that. At most (γc + v)/max(v, (γ + 1)c) can be gained.",
        "The bundled pair, greedy: how often a draft made ahead would have been usable, and what that gains if draft "
        "and target do not disturb each other:"
        + table(("γ", "usable", *(f"gain at c = {c}, v = {v}" for c, v in figures["costs"])), rows),
        Finding(
            tally(reached),
            "It depends on the costs: where drafting is cheap there is little to hide; where it is dear, a draft for "
            "one outcome is often thrown away, most of all a long one. On two cores that share one path to memory "
            "both models would also slow each other down; measuring that needs an engine with two workers, or a "
            "second device.",
        ),
        [gain for of_gamma in gains for gain in of_gamma],
    )


def chart(figures: Figures) -> Chart:
    """Draw the gain over gamma."""
    return Chart(
        "What overlapping could gain at most, greedy",
        "γ",
        "sequential / overlapped",
        tuple(
            with_errors(f"c = {c}, v = {v}", GAMMAS, [of_gamma[i] for of_gamma in _gains(figures)])
            for i, (c, v) in enumerate(figures["costs"])
        ),
        lines=(("no gain", 1.0),),
    )


EXPERIMENT = Experiment(
    name="overlap",
    title="Overlap draft and target to leave nothing idle",
    claim="Specialised scheduling that keeps both models busy, instead of letting one wait for the other, is "
    "where much of the gain lies.",
    seeds=("004",),
    kind="counted",
    instrument="Steps of the bundled pair show how often a draft made ahead would have been of use; its gain is "
    "computed for stated costs.",
    literature="PEARL (Liu et al. 2024) verifies the first draft while drafting and drafts on while verifying; "
    "speculative speculative decoding drafts for several outcomes of the verification.",
    thresholds={"worth": WORTH, "costs": COSTS, "gammas": GAMMAS},
    measure=measure,
    conclude=conclude,
    chart=chart,
)
