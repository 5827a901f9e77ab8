"""A draft that scores its common words alone, or all of them."""

from __future__ import annotations

from minispec.lab.ledger.contests import COLUMNS, GAMMAS, TEMPERATURES, hold_contest, name_chain, offer_chains, tell
from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.runs import DRAFT, SMALL_DRAFT
from minispec.lab.ledger.verdicts import Finding, above, spell, tally
from minispec.lab.viz.plots.claims import PLAIN, Chart, bars

DRAFTS = (DRAFT, SMALL_DRAFT)
WORDS = (2048, 3072, 4096)
GAMMA = 3  # of all, where tokens per pass and costs are compared

ABOUT = About(
    title="A draft is faster without its rare words",
    claim="A draft that scores only the common words of its vocabulary makes speculation faster: its head costs less, "
    "and hardly anything is accepted less often.",
    sources=(),
    kind="timed",
    instrument="Both bundled drafts, whole and with heads for the first ids of the vocabulary, taking turns, float32, "
    "on three kinds of text at two temperatures; number of words and draft length are chosen on prompts that are not "
    "those of the verdict.",
    literature="FR-Spec (Zhao et al. 2025) claims it, keeps a quarter of Llama 3's words, by how often they occur, and "
    "reports 1.12x over EAGLE-2. EAGLE-3 (Li et al. 2025) is trained with such a head from the start.",
    thresholds={"faster": 1.0, "gammas": GAMMAS, "words": WORDS, "gamma": GAMMA},
)


def name_trimmed(draft: str) -> str:
    """Return the name of a draft whose head is cut, to whatever number of words."""
    return f"{draft}, trimmed"


def measure(setting: Setting) -> Figures:
    """Time each draft with its whole head and with a trimmed one, in turns, each as it is fastest."""
    comparisons = len(DRAFTS) * len(TEMPERATURES)
    found = []
    for temperature in TEMPERATURES:
        contenders = {}
        for draft in DRAFTS:
            contenders[draft] = offer_chains(draft)
            cut = [offer_chains(f"{draft}:words={words}") for words in WORDS]
            contenders[name_trimmed(draft)] = {name: way for ways in cut for name, way in ways.items()}
        alike = {draft: [name_chain(each, GAMMA) for each in (draft, f"{draft}:words={WORDS[1]}")] for draft in DRAFTS}
        beside = [way for ways in alike.values() for way in ways]
        contest = hold_contest(contenders, temperature, setting.scale, beside)
        times, best = contest.times, contest.best
        for draft in DRAFTS:
            whole, cut_to = alike[draft]
            found.append(
                {
                    "temperature": temperature,
                    "whole": contest.describe(draft, comparisons),
                    "trimmed": contest.describe(name_trimmed(draft), comparisons),
                    "cheaper": times.cheaper(whole, cut_to, comparisons),
                    "longer": times.longer(whole, cut_to, comparisons),
                    "faster": times.faster(best[draft], best[name_trimmed(draft)], comparisons),
                }
            )
    return {"cases": found}


def conclude(figures: Figures) -> Conclusion:
    """Each draft and temperature says whether the trimmed head is faster, each at its best; tallied."""
    answers = {f"{f['whole']['draft']} at T = {f['temperature']:g}": above(f["faster"], 1.0) for f in figures["cases"]}
    rows = [
        (
            *tell(case["temperature"], case[kind]),
            *((case[key] if kind == "trimmed" else "") for key in ("cheaper", "longer", "faster")),
        )
        for case in figures["cases"]
        for kind in ("whole", "trimmed")
    ]
    return Conclusion(
        "η = τ / (γc + v). A head for K of V words reads K/V of its bytes, so c falls by 1 − K/V of its share; α "
        "falls by at most what the target gives to the other words.",
        "Draft lengths and numbers of words are those that were fastest on other prompts. The last three columns "
        f"compare the trimmed head with the whole one: c and tokens per target pass with γ = {GAMMA} and "
        f"{WORDS[1]:,} words, seconds per token with what is in this table:"
        + table((*COLUMNS, "trimmed: token cheaper", "tokens per pass more", "faster"), rows),
        Finding(
            tally(list(answers.values())),
            f"Faster with a trimmed head? {spell(answers)}. In these drafts the head is most of what a token reads.",
        ),
        [case["faster"] for case in figures["cases"]],
    )


def chart(figures: Figures) -> Chart:
    """Draw the speedups with whole and trimmed heads."""
    return bars(
        "Whole and trimmed heads, each as it is fastest",
        "draft",
        "speedup",
        [f"{f['whole']['draft']}\nT = {f['temperature']:g}" for f in figures["cases"]],
        {kind: [f[kind]["speedup"] for f in figures["cases"]] for kind in ("whole", "trimmed")},
        lines=PLAIN,
    )
