"""What speculation changes in the models."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from minispec.engine.backends import get_backend
from minispec.engine.generation import stream
from minispec.engine.model import GPT2Config
from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.verdicts import Finding, tally
from minispec.lab.roofline.forwards import random_model
from minispec.lab.viz.plots.claims import PLAIN, Chart, bars

CONFIG = GPT2Config(
    vocab_size=64, n_positions=128, n_embd=32, n_layer=4, n_head=2, n_inner=64, activation_function="gelu_new"
)
DRAFTS = ("ngram", "suffix", "layerskip:k=2", "self:dtype=int8")
PROMPT, TOKENS = tuple(range(16)), 64

ABOUT = About(
    title="Speculation needs the model to be modified",
    claim="Speculative decoding requires a modification of the model: a separate, aligned draft. (Another source: it "
    "requires neither new training nor new architectures.)",
    sources=("nikolatesla", "kumkar"),
    kind="counted",
    instrument="A target of random weights, which shows what is changed and not what is gained.",
    literature="Leviathan et al. 2023 use models as they are. Draft & Verify (Zhang et al. 2023) drafts with the "
    "target's own layers, prompt lookup (Saxena 2023) with its input.",
    thresholds={"same": "text and weights", "drafts": DRAFTS},
)


def measure(setting: Setting) -> Figures:
    """Decode with drafts that need no second model; compare text and weights with those of plain decoding."""
    target = random_model(CONFIG, get_backend("numba"))
    options: dict[str, Any] = {"target": target, "temperature": 0.0, "min_tokens": TOKENS, "max_tokens": TOKENS}
    plain, before = stream(PROMPT, draft=None, **options).run(), _digest(target)
    found = []
    for draft in DRAFTS:
        made = stream(PROMPT, draft=draft, gamma=4, **options).run()
        found.append(
            {
                "draft": draft,
                "same_text": made.token_ids == plain.token_ids,
                "same_weights": _digest(target) == before,
                "forwards": made.metrics.num_steps,
                "tokens": made.metrics.num_decode_tokens,
            }
        )
    return {"cases": found}


def _digest(model: Any) -> str:
    return hashlib.sha256(np.asarray(model.logits(list(PROMPT))).tobytes()).hexdigest()[:16]


def conclude(figures: Figures) -> Conclusion:
    """Each draft says whether it changed the target or its text; the tally is the verdict."""
    rows = [
        (
            f["draft"],
            "yes" if f["same_text"] else "no",
            "yes" if f["same_weights"] else "no",
            f"{f['tokens']} in {f['forwards']}",
        )
        for f in figures["cases"]
    ]
    return Conclusion(
        "The rule reads the target's laws and the draft's; it touches neither model. A draft may be any law at all: "
        "copied text, the target's own first layers, the target rounded.",
        "Greedy, a target of random weights, drafts without a second model, nothing trained:"
        + table(("draft", "plain decoding's text", "target as before", "tokens in passes"), rows),
        Finding(
            tally([not (f["same_text"] and f["same_weights"]) for f in figures["cases"]]),
            "The target is not modified, and a separate, aligned draft model is one kind of draft among several. That "
            "nothing *has* to be trained is not to say that it does not pay: aligned drafts are accepted more, and "
            "heads (Medusa, EAGLE) are new parts that are trained.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw tokens per pass."""
    return bars(
        "Drafts without a second model (random weights)",
        "draft",
        "tokens per target pass",
        [f["draft"] for f in figures["cases"]],
        {"greedy": [f["tokens"] / f["forwards"] for f in figures["cases"]]},
        lines=PLAIN,
    )
