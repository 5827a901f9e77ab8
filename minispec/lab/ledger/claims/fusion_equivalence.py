"""Whether fused kernels compute the same numbers."""

from __future__ import annotations

import numpy as np

from minispec.engine.backends import get_backend
from minispec.engine.model import GPT2Config
from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.verdicts import Finding, tally
from minispec.lab.roofline.forwards import random_model
from minispec.lab.viz.plots.claims import Chart, bars

BACKENDS = ("numba", "panel")
CONFIG = GPT2Config(
    vocab_size=512, n_positions=128, n_embd=64, n_layer=3, n_head=4, n_inner=256, activation_function="gelu_new"
)
TOKENS = 96

ABOUT = About(
    title="Fused kernels are numerically equivalent",
    claim="Fusing operators into one kernel costs no quality: the result is numerically equivalent.",
    sources=("kumkar",),
    kind="counted",
    instrument="One model of random weights under three backends.",
    literature="He et al. 2025 (Thinking Machines): kernels whose order of summation depends on the batch made 80 "
    "different texts of 1000 greedy runs of one prompt.",
    thresholds={"rows": "all", "backends": BACKENDS},
)


def measure(setting: Setting) -> Figures:
    """Compute one text's logits by operations one at a time (NumPy) and by fused and tiled kernels."""
    tokens = [int(token) for token in np.random.default_rng(0).integers(0, CONFIG.vocab_size, TOKENS)]
    reference = np.asarray(random_model(CONFIG, get_backend("numpy")).logits(tokens))
    found = []
    for name in BACKENDS:
        logits = np.asarray(random_model(CONFIG, get_backend(name)).logits(tokens))
        found.append(
            {
                "backend": name,
                "same_bits": int((logits == reference).all(1).sum()),
                "rows": len(logits),
                "difference": float(np.abs(logits - reference).max() / reference.std()),
                "same_argmax": int((logits.argmax(1) == reference.argmax(1)).sum()),
            }
        )
    return {"cases": found}


def conclude(figures: Figures) -> Conclusion:
    """Each backend says whether all rows have the bits of the unfused ones; the tally is the verdict."""
    rows = [
        (
            f["backend"],
            f"{f['same_bits']} of {f['rows']}",
            f"{f['difference']:.0e}",
            f"{f['same_argmax']} of {f['rows']}",
        )
        for f in figures["cases"]
    ]
    return Conclusion(
        "Sums in floating point depend on their order, and a fused kernel has an order of its own: equal in exact "
        "arithmetic, not in bits.",
        "Logits of fused and tiled kernels against operations one at a time, random weights, float32:"
        + table(("backend", "rows with the same bits", "largest difference / spread", "same argmax"), rows),
        Finding(
            tally([f["same_bits"] == f["rows"] for f in figures["cases"]]),
            "Equivalent to rounding, which is harmless until two tokens are as likely as each other: then greedy text "
            "can part. “None” as the cost in quality is right, “equivalent” to the bit is not.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the differences."""
    return bars(
        "Fused kernels against operations one at a time",
        "backend",
        "largest difference / spread of logits",
        [f["backend"] for f in figures["cases"]],
        {"random weights": [f["difference"] for f in figures["cases"]]},
    )
