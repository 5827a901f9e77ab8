"""Drafting while the target verifies."""

from __future__ import annotations

from minispec.experiments.framework import Conclusion, Experiment, Figures, Setting, table
from minispec.experiments.instruments import DOMAINS, clustered, decode_all
from minispec.experiments.verdicts import Interval, Verdict, tally
from minispec.viz.plots.claims import Chart, Curve

GAMMAS = (1, 2, 3, 5)
COSTS = ((0.05, 1.0), (0.2, 1.5), (0.5, 1.0))
WORTH = 1.1


def measure(setting: Setting) -> Figures:
    """Count how often a draft made ahead would have been usable: all accepted, and the next token guessed as well."""
    found = []
    for gamma in GAMMAS:
        usable = []
        for domain in DOMAINS:
            # gamma + 1 drafts: the last one is the draft's guess of what the target adds after gamma acceptances
            for run in decode_all(
                domain, setting.scale.prompts, setting.scale.tokens, gamma=gamma + 1, temperature=0.0
            ):
                full = [step for step in run.steps if len(step.draft_tokens) == gamma + 1]
                usable.append([float(step.num_accepted == gamma + 1) for step in full])
        share = clustered(usable)
        found.append({"gamma": gamma, "usable": share, "gain": [_gain(gamma, c, v, share[0]) for c, v in COSTS]})
    return {"cases": found, "costs": COSTS}


def _gain(gamma: int, c: float, v: float, usable: float) -> float:
    """Return sequential over overlapped time: where the draft ahead is of no use it is made again afterwards."""
    # (gamma c + v) / (max(v, gamma c) + (1 - s) gamma c)
    return (gamma * c + v) / (max(v, gamma * c) + (1.0 - usable) * gamma * c)


def conclude(figures: Figures) -> Conclusion:
    """Each pair of costs says whether the best gamma gains a tenth, were nothing lost by sharing; tallied."""
    best = [max(f["gain"][i] for f in figures["cases"]) for i in range(len(COSTS))]
    rows = [(f["gamma"], Interval(*f["usable"]), *(f"{gain:.2f}" for gain in f["gain"])) for f in figures["cases"]]
    return Conclusion(
        "Without overlap a step takes γc + v. A draft made during verification must assume that everything is "
        "accepted and guess the target's next token, so it is usable with probability of about α^(γ+1); otherwise it "
        "is made again. At most (γc + v)/max(γc, v) can be gained, twofold at γc = v.",
        "The bundled pair, greedy: how often a draft made ahead would have been usable, and what that gains if draft "
        "and target do not disturb each other:"
        + table(("γ", "usable", *(f"gain at c = {c}, v = {v}" for c, v in figures["costs"])), rows),
        Verdict(
            tally([gain > WORTH for gain in best]),
            "It depends on the costs: where drafting is cheap there is little to hide, and where it is dear most of "
            "what is drafted ahead is thrown away. On two cores that share one path to memory both models would also "
            "slow each other down; measuring that needs an engine with two workers, or a second device.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the gain over gamma."""
    return Chart(
        "What overlapping could gain at most, greedy", "γ", "sequential / overlapped",
        tuple(
            Curve(f"c = {c}, v = {v}", GAMMAS, [f["gain"][i] for f in figures["cases"]])
            for i, (c, v) in enumerate(figures["costs"])
        ),
        lines=(("no gain", 1.0),),
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="overlap",
    title="Overlap draft and target to leave nothing idle",
    claim="Specialised scheduling that keeps both models busy, instead of letting one wait for the other, is "
    "where much of the gain lies.",
    seeds=("004",),
    kind="counted",
    instrument="Steps of the bundled pair show how often a draft made ahead would have been of use; its gain is "
    "computed for stated costs.",
    measure=measure,
    conclude=conclude,
    chart=chart,
)
