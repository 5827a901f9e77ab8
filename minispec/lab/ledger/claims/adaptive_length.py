"""A draft length that adapts while it decodes, or the best fixed one."""

from __future__ import annotations

from minispec.lab.ledger.contests import TEMPERATURES, hold_contest, name_chain
from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.runs import DRAFT
from minispec.lab.ledger.verdicts import Finding, above, spell, tally
from minispec.lab.viz.plots.claims import PLAIN, Chart, bars

LENGTHS = (1, 2, 3, 4, 5, 6, 8)
ADAPTIVE = ("auto", "confidence", "heuristic")
FIXED = "fixed"

ABOUT = About(
    title="A draft length that adapts beats any fixed one",
    claim="Choosing the number of drafted tokens anew in each step, from confidence or from what was accepted so far, "
    "is faster than the best fixed number.",
    sources=(),
    kind="timed",
    instrument="Three policies of `--gamma` and fixed lengths, taking turns on held-out prompts of three kinds at two "
    "temperatures; the fixed length is chosen on prompts that are not those of the verdict.",
    literature="SpecDec++ (Huang et al. 2024) claims it, for stopping by a trained head, and reports 7 % to 11 % over "
    "a fixed length. Leviathan et al. 2023 (section 3.5) expect up to 60 % from an oracle that knows each acceptance.",
    thresholds={"faster": 1.0, "lengths": LENGTHS},
)


def measure(setting: Setting) -> Figures:
    """Time every policy that adapts and the best fixed length in turns."""
    comparisons = len(ADAPTIVE) * len(TEMPERATURES)
    chains = {name_chain(DRAFT, gamma): {"draft": DRAFT, "gamma": gamma} for gamma in LENGTHS}
    cases = []
    for temperature in TEMPERATURES:
        adaptive = {name: {name: {"draft": DRAFT, "gamma": name}} for name in ADAPTIVE}
        contest = hold_contest({FIXED: chains, **adaptive}, temperature, setting.scale)
        fixed = contest.best[FIXED]
        cases.append(
            {
                "temperature": temperature,
                "policies": [
                    contest.describe(name)
                    | {"faster": None if name == FIXED else contest.times.faster(fixed, name, comparisons)}
                    for name in (FIXED, *ADAPTIVE)
                ],
            }
        )
    return {"cases": cases}


def conclude(figures: Figures) -> Conclusion:
    """Each policy and temperature says whether it is faster than the best fixed length; the tally is the verdict."""
    judged = {
        f"{f['draft']} at T = {case['temperature']:g}": f["faster"]
        for case in figures["cases"]
        for f in case["policies"]
        if f["faster"] is not None
    }
    answers = {name: above(faster, 1.0) for name, faster in judged.items()}
    rows = [
        (f"{case['temperature']:g}", f["way"], f"{f['length']:.2f}", f["speedup"], f["faster"] or "")
        for case in figures["cases"]
        for f in case["policies"]
    ]
    return Conclusion(
        "Drafting one more token pays while S(k) a > η* (d + T(k + 2) − T(k + 1)): where a varies from token to token, "
        "a length that follows it gains over any fixed one, if it can tell a before the token is drawn, and in time. "
        "At temperature 0 each row is certain, and says nothing of a.",
        f"Draft {DRAFT}, each text with a policy that knows nothing of the texts before; the fixed length is the one "
        f"of {', '.join(map(str, LENGTHS))} that was fastest on other prompts:"
        + table(("temperature", "draft length", "tokens per pass", "speedup", "faster than the fixed one"), rows),
        Finding(
            tally(list(answers.values())),
            f"Faster than the fixed length? {spell(answers)}. The time it takes to find the fixed length by trial is "
            "not counted.",
        ),
        list(judged.values()),
    )


def chart(figures: Figures) -> Chart:
    """Draw the speedups by policy."""
    return bars(
        "Draft lengths: the best fixed one, and policies that adapt",
        "policy",
        "speedup",
        (FIXED, *ADAPTIVE),
        {f"temperature {case['temperature']:g}": [f["speedup"] for f in case["policies"]] for case in figures["cases"]},
        lines=PLAIN,
    )
