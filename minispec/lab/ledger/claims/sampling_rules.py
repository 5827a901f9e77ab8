"""Matching samples against rejection sampling."""

from __future__ import annotations

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.instruments import alpha, count, to_interval, tokens_per_step
from minispec.lab.ledger.runs import DOMAINS, decode_all
from minispec.lab.ledger.verdicts import Finding, Interval, above
from minispec.lab.viz.plots.claims import Chart, bars
from minispec.theory.intervals import difference_of_ratios

RULES = ("match", "gumbel", "rejection", "block")
TEMPERATURES = (0.5, 1.0)

ABOUT = About(
    title="Comparing with samples and rejection sampling are the same thing",
    claim="Verification is told in two ways as if they were one: accept each draft with probability p/q, or compare "
    "drafts with samples of the target until the first mismatch.",
    sources=("pan-practice", "nikolatesla", "kumkar"),
    kind="counted",
    instrument="The same pair and prompts under four exact rules; only how often drafts are accepted can differ.",
    literature="Leviathan et al. 2023, theorem 3.5: Σ min(p, q). Daliri, Musco and Suresh 2024: coupled samples "
    "agree with at least (1 − TV)/(1 + TV). Sun et al. 2024: block verification makes 7 to 10 % more "
    "tokens a step.",
    thresholds={"clear": 0.0, "temperature": 1.0},
)


def measure(setting: Setting) -> Figures:
    """Decode all prompts under each rule."""
    found, counts = [], {}
    for temperature in TEMPERATURES:
        for rule in RULES:
            texts = [
                runs
                for domain in DOMAINS
                for runs in decode_all(domain, setting.scale, verify=rule, temperature=temperature)
            ]
            counts[rule, temperature] = (count(texts, "num_accepted_tokens"), count(texts, "num_evaluated_tokens"))
            found.append(
                {
                    "temperature": temperature,
                    "rule": rule,
                    "alpha": alpha(texts),
                    "tokens_per_step": tokens_per_step(texts),
                }
            )
    return {"cases": found, "gap": to_interval(difference_of_ratios(counts["rejection", 1.0], counts["match", 1.0]))}


def conclude(figures: Figures) -> Conclusion:
    """Judge: false if rejection clearly accepts more than matching at temperature 1; holds here if clearly not more."""
    gap = Interval(*figures["gap"])
    more = above(gap, 0.0)
    rows = [(f["temperature"], f["rule"], f["alpha"], f"{f['tokens_per_step']:.2f}") for f in figures["cases"]]
    return Conclusion(
        "Accepted at one prefix: independent samples that agree, Σ p·q; coupled samples (one noise for both), between "
        "(1 − TV)/(1 + TV) and 1 − TV; rejection sampling, Σ min(p, q) = 1 − TV, the most any exact rule can. Block "
        "verification judges the draft as a whole and keeps at least as many. All four leave the target's law.",
        "The bundled pair, γ = 5, all prompts:"
        + table(("temperature", "rule", "α (block: per position kept)", "tokens per step"), rows),
        Finding(
            "undecided" if more is None else "false" if more else "holds here",
            f"At temperature 1 rejection accepts {gap.value:.2f} more of the evaluated drafts ({gap.low:.2f} to "
            f"{gap.high:.2f}). The two procedures are not one: both are exact, and matching pays for its simplicity.",
        ),
        [gap],
    )


def chart(figures: Figures) -> Chart:
    """Draw acceptance by rule."""
    return bars(
        "Acceptance by rule, bundled pair",
        "rule",
        "α",
        RULES,
        {f"temperature {t}": [f["alpha"] for f in figures["cases"] if f["temperature"] == t] for t in TEMPERATURES},
    )
