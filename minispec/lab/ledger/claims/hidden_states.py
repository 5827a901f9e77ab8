"""A head on the target's hidden states, or a separate draft."""

from __future__ import annotations

import math
from typing import Any

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
from minispec.lab.ledger.runs import DRAFT, SMALL_DRAFT
from minispec.lab.ledger.verdicts import Finding, above, spell, tally
from minispec.lab.viz.plots.claims import PLAIN, Chart, bars

HEAD, DRAFTS = "eagle", (DRAFT, SMALL_DRAFT)
GAMMA = 3  # of all, where tokens per pass and costs are compared
ALIKE = 1.1  # a tenth more is granted as "the same cost"

ABOUT = About(
    title="A head on hidden states beats a separate draft of the same cost",
    claim="A small layer that goes on from the target's hidden states (EAGLE) is a better draft than a separate model "
    "whose drafted token costs as much.",
    sources=(),
    kind="timed",
    instrument="The bundled eagle head and both separate drafts, taking turns, float32, on three kinds of text at two "
    "temperatures; each one's draft length is chosen on prompts that are not those of the verdict. Reading "
    "the prompt is left out.",
    literature="EAGLE (Li et al. 2024) claims it, and reports 2.7x to 3.5x for Llama 2 chat 70B; EAGLE-3 (Li et al. "
    "2025) 5.5x for Vicuna 13B. Spec-Bench (Xia et al. 2024), Vicuna 7B on a 3090: EAGLE 2.08x and a separate draft "
    "1.77x at temperature 0, 1.74x and 1.49x at 1; nobody matched what the drafts cost.",
    thresholds={"alike": ALIKE, "longer": 0.0, "faster": 1.0, "gamma": GAMMA, "gammas": GAMMAS},
)


def measure(setting: Setting) -> Figures:
    """Time the head and the separate drafts in turns, at one draft length and at each one's best."""
    warm_up([HEAD])
    names = (HEAD, *DRAFTS)
    common = {name: name_chain(name, GAMMA) for name in names}
    comparisons = 3 * len(DRAFTS) * len(TEMPERATURES)
    found = []
    for temperature in TEMPERATURES:
        contest = hold_contest(
            {name: offer_chains(name) for name in names}, temperature, setting.scale, common.values()
        )
        times, best = contest.times, contest.best
        found.append(
            {
                "temperature": temperature,
                "head": contest.describe(HEAD, comparisons),
                "drafts": [
                    contest.describe(name, comparisons)
                    | {
                        "cheaper": times.cheaper(common[name], common[HEAD], comparisons),
                        "longer": times.longer(common[name], common[HEAD], comparisons),
                        "faster": times.faster(best[name], best[HEAD], comparisons),
                    }
                    for name in DRAFTS
                ],
            }
        )
    return {"cases": found}


def _nearest(case: dict[str, Any]) -> dict[str, Any]:
    """Return the separate draft whose drafted token costs most nearly what the head's does."""
    drafts: list[dict[str, Any]] = case["drafts"]
    return min(drafts, key=lambda draft: abs(math.log(draft["cheaper"][0])))


def conclude(figures: Figures) -> Conclusion:
    """Tally, for each temperature and the draft nearest in cost: no dearer (a tenth granted), more tokens, faster."""
    answers: dict[str, bool | None] = {}
    for case in figures["cases"]:
        draft, at = _nearest(case), f"at T = {case['temperature']:g}"
        answers |= {
            f"as cheap {at}": above(draft["cheaper"], 1 / ALIKE),
            f"more tokens per pass {at}": above(draft["longer"], 0.0),
            f"faster {at}": above(draft["faster"], 1.0),
        }
    rows = [
        (*tell(case["temperature"], f), *(f.get(key, "") for key in ("cheaper", "longer", "faster")))
        for case in figures["cases"]
        for f in (case["head"], *case["drafts"])
    ]
    near = {f"T = {case['temperature']:g}": _nearest(case) for case in figures["cases"]}
    return Conclusion(
        "η = τ / (γc + v): of two drafts with the same c and γ, the one that more is kept of is the faster, whatever "
        "v. A separate draft reads tokens alone. A head reads what the target made of them, computes the less itself, "
        "and is of no use to any other target.",
        "Draft lengths are those that were fastest for each draft on other prompts. The last three columns compare "
        f"the head with each separate draft: c and tokens per target pass with γ = {GAMMA}, seconds per token "
        "with the length in this table:"
        + table((*COLUMNS, "head's token cheaper", "head's tokens per pass more", "head faster"), rows),
        Finding(
            tally(list(answers.values())),
            f"{spell(answers)}. Nearest in cost are "
            + ", ".join(
                f"{f['draft']} at {name} (its drafted token costs {f['cheaper'][0]:.2f} times the head's)"
                for name, f in near.items()
            )
            + ". Each draft is trained in its own way.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the speedups, each with its own best draft length."""
    return bars(
        "A head and separate drafts, each at its best γ",
        "draft",
        "speedup",
        (HEAD, *DRAFTS),
        {
            f"temperature {case['temperature']:g}": [f["speedup"] for f in (case["head"], *case["drafts"])]
            for case in figures["cases"]
        },
        lines=PLAIN,
    )
