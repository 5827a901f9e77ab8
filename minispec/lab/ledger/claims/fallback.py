"""Turning speculation off where it does not pay."""

from __future__ import annotations

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.instruments import average_costs
from minispec.lab.ledger.runs import DRAFT, TARGET, model, prompts
from minispec.lab.ledger.verdicts import Finding, Word, above, below
from minispec.lab.simulate import CostModel, MisleadingDraft, RememberingModel, Text, judge
from minispec.lab.viz.plots.claims import PLAIN, Chart, bars

POLICIES = ("5", "5+fallback", "auto", "auto+fallback")
COSTS = {"c = 0.1": CostModel(draft=0.1), "c = 0.5": CostModel(draft=0.5)}
SLACK = 1.05
JUDGED = 4
"""Figures that the verdict reads: a useless draft at both costs, without the fallback and with it."""

ABOUT = About(
    title="Where drafts are not accepted, fall back to plain decoding",
    claim="For requests on which the draft does badly a system should switch speculation off, by the acceptance "
    "it sees, to avoid a slowdown.",
    sources=("kumkar",),
    kind="counted",
    instrument="The real engine on a simulated clock; the useless draft is the bundled one with its vocabulary "
    "shifted by one, as sure of itself as ever.",
    literature="SpecDec++ (Huang et al. 2024) and DISCO (Mamou et al. 2024) stop drafts early and report 7 to 11 % "
    "over fixed lengths; SmartSpec (Liu et al. 2024) chooses lengths, 0 among them, for goodput.",
    thresholds={"slack": SLACK, "gamma": 5},
)


def measure(setting: Setting) -> Figures:
    """Judge policies by simulated cost with a draft that is wrong and does not know it, and with the bundled one."""
    tokens = min(512, 8 * setting.scale.tokens)
    texts = prompts("code", setting.scale.prompts)
    found = [_judge(Text([prompt], 1 + tokens, 1.0, i)) for i, prompt in enumerate(texts)]  # the first costs no step
    return {
        "tokens": tokens,
        "texts": len(found),
        "costs": {
            case: {p: average_costs([each[case][p] for each in found], of=JUDGED) for p in POLICIES}
            for case in found[0]
        },
    }


def _judge(text: Text) -> dict[str, dict[str, float]]:
    """Return the cost per token of one text by case and policy; its logits are computed once, and then forgotten."""
    target = RememberingModel(model(TARGET))
    drafts = {
        "useless draft": RememberingModel(MisleadingDraft(model(DRAFT))),
        "bundled draft": RememberingModel(model(DRAFT)),
    }
    return {
        f"{name}, {costs}": judge(target, draft, [text], cost_model, POLICIES)
        for name, draft in drafts.items()
        for costs, cost_model in COSTS.items()
    }


def conclude(figures: Figures) -> Conclusion:
    """Judge the figures.

    Holds here if a useless draft clearly costs over 5 % with five fixed drafts, and clearly less with the fallback;
    false if one of the four figures clearly says the opposite.
    """
    useless = [found for name, found in figures["costs"].items() if name.startswith("useless")]
    answers = [above(found["5"], SLACK) for found in useless] + [below(found["5+fallback"], SLACK) for found in useless]
    word: Word = "false" if False in answers else "undecided" if None in answers else "holds here"
    rows = [(name, *(found[p] for p in POLICIES)) for name, found in figures["costs"].items()]
    found_out = max(found["5+fallback"][0] - 1.0 for found in useless) * figures["tokens"]
    return Conclusion(
        "With α = 0 a step costs γc + v and yields one token. No policy avoids all of it: finding out takes some "
        "drafts.",
        f"Simulated cost per token over {figures['tokens']} tokens each of {figures['texts']} texts of code at "
        "temperature 1 (plain decoding is 1), rule gumbel, v(m) = 1 + 0.05(m − 1):"
        + table(("draft and costs", *POLICIES), rows),
        Finding(
            word,
            "Without a fallback a useless draft costs "
            + " and ".join(f"{found['5'][0]:.2f}" for found in useless)
            + " times plain decoding; with it "
            + " and ".join(f"{found['5+fallback'][0]:.2f}" for found in useless)
            + f". What is left is finding out, at most {found_out:.0f} plain steps: the same for every length, so "
            f"over {figures['tokens']} tokens it weighs more than over long responses. A policy that adapts the draft "
            "length (`auto`), by itself: " + " and ".join(f"{found['auto'][0]:.2f}" for found in useless) + ".",
        ),
        judged=[found[p] for found in useless for p in ("5", "5+fallback")],
    )


def chart(figures: Figures) -> Chart:
    """Draw the costs by policy."""
    return bars(
        "Simulated cost per token",
        "policy",
        "cost, plain steps",
        POLICIES,
        {name: [found[p][0] for p in POLICIES] for name, found in figures["costs"].items()},
        lines=PLAIN,
    )
