"""What happens at once, and what one pass costs."""

from __future__ import annotations

from minispec.engine.drafters import ModelDrafter
from minispec.engine.generation import stream
from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.runs import DRAFT, TARGET, model, prompts, read_prompt
from minispec.lab.ledger.verdicts import Finding
from minispec.lab.viz.plots.claims import Chart, Curve
from minispec.theory import step_cost

GAMMAS = (1, 3, 5, 8)
COSTS = ((0.02, 1.0), (0.1, 1.0), (0.2, 1.5))

ABOUT = About(
    title="Drafts are made in parallel, and K tokens cost one pass",
    claim="The small (autoregressive) model produces its candidates in parallel, and if they are accepted one gets K "
    "tokens for the price of one pass of the large model.",
    sources=("nikolatesla",),
    kind="counted",
    instrument="Both models of the bundled pair count their passes.",
    literature="Leviathan et al. 2023: γ serial draft runs and one parallel target run. Medusa (Cai et al. 2024) and "
    "other heads draft in parallel.",
    thresholds={"gammas": GAMMAS},
)


def measure(setting: Setting) -> Figures:
    """Count the passes of both models, prefill left out."""
    found = []
    for gamma in GAMMAS:
        run = stream(
            prompts("stories", 1)[0],
            target=model(TARGET),
            draft=model(DRAFT),
            gamma=gamma,
            temperature=0.0,
            min_tokens=setting.scale.tokens,
            max_tokens=setting.scale.tokens,
        )
        assert isinstance(run.drafter, ModelDrafter)
        read_prompt(run)
        before = run.target.num_forwards, run.drafter.session.num_forwards
        metrics = run.run().metrics
        found.append(
            {
                "gamma": gamma,
                "drafted": metrics.num_draft_tokens,
                "draft_forwards": run.drafter.session.num_forwards - before[1],
                "target_forwards": run.target.num_forwards - before[0],
                "tokens": metrics.num_decode_tokens,
            }
        )
    full = [[step_cost(gamma, c, v if gamma else 1.0) for gamma in range(1, 9)] for c, v in COSTS]
    return {"cases": found, "costs": COSTS, "full_step": full}


def conclude(figures: Figures) -> Conclusion:
    """Judge: false if drafted tokens take a pass each, or more; holds if some draft takes fewer."""
    sequential = all(f["draft_forwards"] >= f["drafted"] for f in figures["cases"])
    rows = [
        (f["gamma"], f["drafted"], f["draft_forwards"], f["target_forwards"], f["tokens"]) for f in figures["cases"]
    ]
    five = [
        (c, v, f"{costs[4]:.2f}", f"{6 / costs[4]:.2f}x")
        for (c, v), costs in zip(figures["costs"], figures["full_step"], strict=True)
    ]
    return Conclusion(
        "Draft token i + 1 is drawn given token i, so γ drafts of a model are γ passes one after the other; only "
        "the *check* is one pass. A step of γ accepted drafts costs γc + v(γ + 1), not 1, and yields γ + 1 tokens, "
        "not γ. "
        "At γ = 5 with everything accepted:" + table(("c", "v(6)", "cost of the step", "speedup"), five),
        "Forwards counted in the bundled pair:"
        + table(("γ", "drafted", "draft passes", "target passes", "tokens"), rows),
        Finding(
            "false" if sequential else "holds",
            "An autoregressive model's drafts are made one by one (heads and masked drafts, which are not, make "
            "several at once, and each then knows less of the others); what is parallel is their verification. And a "
            "rejection does not start from nothing: the target's own token at that place is kept.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw what a fully accepted step costs."""
    gammas = list(range(1, 9))
    return Chart(
        "A step whose drafts are all accepted",
        "γ",
        "cost, plain steps",
        (
            *(
                Curve(f"γc + v, c = {c}, v = {v}", gammas, costs)
                for (c, v), costs in zip(figures["costs"], figures["full_step"], strict=True)
            ),
            Curve("as claimed", gammas, [1.0] * len(gammas), look="dashed"),
        ),
    )
