"""Whose text the output is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from minispec.engine.drafters import Drafter, ModelDrafter
from minispec.engine.drafters.trees import FixedTreeDrafter, ModelSource, Siblings
from minispec.engine.drafters.trees.shapes import fixed_tree
from minispec.engine.generation.stopping import Limits
from minispec.engine.laws import Enumerator, Outcome, outcome, speculative_stream, target_law, total_variation
from minispec.engine.model.session import Session
from minispec.engine.model.toy import TableModel
from minispec.engine.noise import Noise
from minispec.engine.sampling import Sampler, SamplingParams
from minispec.engine.verifiers import get_verifier
from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.runs import DOMAINS, decode_all
from minispec.lab.ledger.verdicts import Finding
from minispec.lab.viz.plots.claims import Chart, bars

EXACT = 1e-12
TREES: Mapping[str, Siblings] = {
    "tree": "without replacement",
    "traversal": "without replacement",
    "kseq": "with replacement",
}
"""Rules that judge trees, and how they want siblings to be drawn."""
LOSSLESS = ("rejection", "block", "match", *TREES)
RULES = (*LOSSLESS, "typical", "lenient")
TOKENS = 3  # behind the first, which no draft reaches

ABOUT = About(
    title="The output is exactly what the target would have written",
    claim="Verification makes the output mathematically identical to the target's own: the same distribution, no "
    "loss of quality.",
    sources=("pan-streaming", "pan-practice", "kumkar"),
    kind="counted",
    instrument="All prompts, speculative against plain; and an enumerator that stands in for the randomness of "
    "the engine and walks every branch, so that the law is exact and not sampled.",
    literature="Leviathan et al. 2023, appendix A.1, and Chen et al. 2023 prove it for rejection; Sun et al. "
    "2024 for blocks; Sun et al. 2023 (SpecTr) and Miao et al. 2024 for several candidates. He et al. 2025 (Thinking "
    "Machines) show why the bits of one row and of several differ on GPUs.",
    thresholds={"exact": EXACT, "rules": LOSSLESS},
)


def measure(setting: Setting) -> Figures:
    """Compare tokens, greedy and with one seed; and enumerate the engine's exact law on a tiny vocabulary."""
    cases: dict[str, dict[str, Any]] = {
        "temperature 0": {"temperature": 0.0},
        "match": {"verify": "match"},
        "gumbel": {"verify": "gumbel"},
        "rejection": {},
    }
    equal = {}
    for name, options in cases.items():
        plain_options = {key: value for key, value in options.items() if key == "temperature"}
        pairs = [
            pair
            for domain in DOMAINS
            for texts in zip(
                decode_all(domain, setting.scale, **options),
                decode_all(domain, setting.scale, draft=None, **plain_options),
                strict=True,
            )
            for pair in zip(*texts, strict=True)
        ]
        equal[name] = {"texts": len(pairs), "equal": sum(np.array_equal(a.tokens, b.tokens) for a, b in pairs)}
    return {"equal": equal, "distance": {rule: _distance(rule) for rule in RULES}}


def _distance(rule: str) -> float:
    """Return the total variation between the engine's law over a few tokens and the target's.

    The target is certain of the first token, so that what is enumerated begins with a draft.

    Trees have two candidates for one place, over four tokens: over three, mistakes about siblings need not show.
    """
    words, gamma = (4, 1) if rule in TREES else (3, 2)
    certain = [float(token == 0) for token in range(words)]
    target, draft = TableModel(words, 16, seed=1, table={(0,): certain}), TableModel(words, 16, seed=2)
    params, limits = SamplingParams(temperature=1.0, top_p=1.0), Limits(1 + TOKENS, 16, (), frozenset())
    verify = get_verifier(rule).verify

    def new_drafter(session: Session, sampler: Sampler) -> Drafter:
        if rule not in TREES:
            return ModelDrafter(session, sampler)
        return FixedTreeDrafter(ModelSource(draft), sampler, fixed_tree((2,)), TREES[rule], num_slots=16)

    def run(noise: Noise) -> Outcome:
        made = speculative_stream(
            noise, target, draft, params, [0], limits, gamma=gamma, verify=verify, new_drafter=new_drafter
        )
        return outcome(made.run())

    return total_variation(Enumerator(run).law(), target_law(target, params, [0], limits))


def conclude(figures: Figures) -> Conclusion:
    """Judge the figures.

    Holds if greedy and same-seed texts are all equal and the lossless rules' laws are the target's to 1e-12.
    """
    equal, distance = figures["equal"], figures["distance"]
    tokens = all(equal[name]["equal"] == equal[name]["texts"] for name in ("temperature 0", "match", "gumbel"))
    laws = all(distance[rule] < EXACT for rule in LOSSLESS)
    rows = [(name, f"{found['equal']} of {found['texts']}") for name, found in equal.items()]
    laws_rows = [(rule, f"{found:.1g}" if found else "0") for rule, found in distance.items()]
    return Conclusion(
        "P(x) = min(p, q) + (p − min(p, q)) = p, token by token, so the joint law is the target's. It says nothing "
        "about which text a given seed draws, and assumes that a verified row has the bits of a decoded one.",
        "Texts equal to plain decoding with the same seed:"
        + table(("rule", "equal"), rows)
        + f"\n\nTotal variation between the exact law of {TOKENS} tokens (every branch of the unchanged engine, a "
        "vocabulary of 3, and of 4 for the rules that judge trees) and the target's:"
        + table(("rule", "distance"), laws_rows),
        Finding(
            "holds" if tokens and laws else "false",
            "For the lossless rules the law is the target's; the tokens of a seed are the same only where the rule "
            "ties them to the target's own noise, and in greedy decoding because this engine's kernels do not depend "
            "on the number of rows. “Typical” and “lenient” acceptance are not lossless.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the distances."""
    return bars(
        "Distance of the output's law from the target's",
        "rule",
        "total variation",
        RULES,
        {f"{TOKENS} tokens": [figures["distance"][rule] for rule in RULES]},
    )
