"""A tree of candidates, or a chain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minispec.lab.ledger.contests import GAMMAS, TEMPERATURES, Ways, hold_contest, offer_chains, warm_up
from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.instruments import verify_curve
from minispec.lab.ledger.runs import TARGET, model
from minispec.lab.ledger.verdicts import Finding, above, spell, tally
from minispec.lab.viz.plots.claims import PLAIN, Chart, bars

HEAD = "eagle"
NODES, DEPTH = (4, 8, 16), 5
ROWS = tuple(sorted({n + 1 for n in (*GAMMAS, *NODES)}))
SIBLINGS = {0.0: "likeliest", 1.0: "without"}
"""At temperature 0 drawn siblings would all be one token; above it drawn ones are kept more often."""
CHAIN, TREE = "chain", "tree"

ABOUT = About(
    title="A tree of drafts is faster than a chain",
    claim="Verifying a tree of candidates instead of a chain makes speculation faster.",
    sources=(),
    kind="timed",
    instrument="A dynamic tree (EAGLE-2) and a chain of the bundled eagle head, and plain decoding, taking turns, "
    "float32, on three kinds of text at two temperatures; both sizes are chosen on prompts that are not those of the "
    "verdict. At temperature 0 siblings are the likeliest tokens, at 1 they are drawn without replacement.",
    literature="EAGLE-2 (Li et al. 2024) claims it, and reports 3.05x to 4.26x, 20 % to 40 % more than EAGLE with a "
    "fixed tree. SpecInfer (Miao et al. 2023), the first to verify trees: 1.5x to 2.8x. Sequoia (Chen et al. 2024), "
    "whose trees fit the machine: 4.04x for Llama 2 7B on an A100. Medusa's trees "
    "(Cai et al. 2024) are made of parallel guesses.",
    thresholds={"faster": 1.0, "gammas": GAMMAS, "nodes": NODES, "depth": DEPTH},
)


def _offer_trees(temperature: float) -> Ways:
    """Return the trees of all sizes there are to choose from."""
    kind = f"tree:draft={HEAD},shape=dynamic,siblings={SIBLINGS[temperature]}"
    return {
        f"{HEAD}, tree of {nodes}": {"draft": f"{kind},nodes={nodes}", "gamma": DEPTH, "verify": "tree"}
        for nodes in NODES
    }


def measure(setting: Setting) -> Figures:
    """Time the head's chain and its tree in turns, each of the size that is best for it; and passes by rows."""
    warm_up([HEAD])
    scale, comparisons = setting.scale, len(TEMPERATURES)
    found = []
    for temperature in TEMPERATURES:
        contenders = {CHAIN: offer_chains(HEAD), TREE: _offer_trees(temperature)}
        contest = hold_contest(contenders, temperature, scale)
        ways = contest.best[CHAIN], contest.best[TREE]
        found.append(
            {
                "temperature": temperature,
                "siblings": SIBLINGS[temperature],
                **{name: contest.describe(name, comparisons) for name in contenders},
                "longer": contest.times.longer(*ways, comparisons),
                "faster": contest.times.faster(*ways, comparisons),
            }
        )
    curve = verify_curve(model(TARGET), ROWS, 64, 2 * scale.repeats)
    return {"cases": found, "rows": ROWS, "curve": [curve[rows] for rows in ROWS]}


def _drafting(way: Mapping[str, Any]) -> float:
    """Return what drafting takes of a step, in plain steps: all of it, less v."""
    return float(way["length"] / way["speedup"][0] - way["v"])


def conclude(figures: Figures) -> Conclusion:
    """Each temperature says whether the tree is faster than the chain, each of its best size; tally: verdict."""
    answers = {f"T = {f['temperature']:g}": above(f["faster"], 1.0) for f in figures["cases"]}
    rows = [
        (
            f"{f['temperature']:g}",
            f[name]["way"],
            f"{f[name]['length']:.2f}",
            f"{f[name]['v']:.2f}",
            f[name]["speedup"],
            *((f["longer"], f["faster"]) if name == TREE else ("", "")),
        )
        for f in figures["cases"]
        for name in (CHAIN, TREE)
    ]
    steps = [
        (f"T = {f['temperature']:g}", f[TREE]["length"] / f[CHAIN]["length"], f["faster"][0]) for f in figures["cases"]
    ]
    return Conclusion(
        "A step makes τ tokens and costs its drafting and v(m), m its rows. A tree spends rows on second choices, for "
        "where a chain would end. It pays where τ grows by a larger factor than the step's cost: easily where rows "
        "are free, never where each costs nearly as much as a pass of its own.",
        f"Chain and tree of the bundled {HEAD} head, of the sizes that were fastest on other prompts; v is what a step "
        "costs beside drafting, in plain steps, and the last two columns compare the tree with the chain:"
        + table(("temperature", "draft", "tokens per pass", "v", "speedup", "tokens per pass more", "faster"), rows)
        + "\n\nTarget passes by themselves, t(m)/t(1), context 64:"
        + table([f"m = {rows}" for rows in figures["rows"]], [figures["curve"]]),
        Finding(
            tally(list(answers.values())),
            f"Faster? {spell(answers)}. A step of the tree makes "
            + ", ".join(
                f"{more:.2f} times the tokens for {more / faster:.2f} times the time at {name}"
                for name, more, faster in steps
            )
            + ". Of each step drafting takes "
            + "; ".join(
                f"{_drafting(f[TREE]):.2f} plain steps with the tree, {_drafting(f[CHAIN]):.2f} with the chain at "
                f"T = {f['temperature']:g}"
                for f in figures["cases"]
            )
            + ".",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the speedups of chain and tree."""
    return bars(
        f"Chain and tree of the {HEAD} head, each of its best size",
        "temperature",
        "speedup",
        [f"{f['temperature']:g} ({f['siblings']})" for f in figures["cases"]],
        {name: [f[name]["speedup"] for f in figures["cases"]] for name in (CHAIN, TREE)},
        lines=PLAIN,
    )
