"""Whether verification needs another attention."""

from __future__ import annotations

import numpy as np

from minispec.engine.backends import get_backend
from minispec.engine.model import GPT2Config
from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.verdicts import Finding, tally
from minispec.lab.roofline.forwards import random_model
from minispec.lab.viz.plots.claims import Chart, bars

BACKENDS = ("numpy", "numba", "panel")
ROWS, PREFIX = 6, 40
NEAR = 1e-4
CONFIG = GPT2Config(
    vocab_size=512, n_positions=128, n_embd=64, n_layer=3, n_head=4, n_inner=256, activation_function="gelu_new"
)

ABOUT = About(
    title="Verification needs a modified attention",
    claim="The target processes the drafted block with a modified attention mechanism.",
    sources=("kumkar",),
    kind="counted",
    instrument="A model of random weights; its pass is the one that prompts are read with.",
    literature="Leviathan et al. 2023 run the target as it is. SpecInfer (Miao et al. 2023) changes the mask, for "
    "trees.",
    thresholds={"near": NEAR, "rows": ROWS},
)


def measure(setting: Setting) -> Figures:
    """Compare six rows verified at once, by the ordinary pass, with the same six decoded one by one."""
    tokens = [int(token) for token in np.random.default_rng(0).integers(0, CONFIG.vocab_size, PREFIX + ROWS)]
    found = []
    for name in BACKENDS:
        model = random_model(CONFIG, get_backend(name))
        caches = [model.new_cache(capacity=len(tokens)) for _ in range(2)]
        for cache in caches:
            model.forward(tokens[:PREFIX], cache)
        at_once = np.asarray(model.forward(tokens[PREFIX:], caches[0], ROWS))
        one_by_one = np.concatenate([np.asarray(model.forward([token], caches[1], 1)) for token in tokens[PREFIX:]])
        found.append(
            {
                "backend": name,
                "difference": float(np.abs(at_once - one_by_one).max()),
                "spread": float(one_by_one.std()),
                "same_argmax": int((at_once.argmax(1) == one_by_one.argmax(1)).sum()),
            }
        )
    return {"cases": found}


def conclude(figures: Figures) -> Conclusion:
    """Each backend says whether the ordinary pass misses the rows' values by more than rounding; tallied."""
    rows = [
        (f["backend"], f"{f['difference']:.1e}", f"{f['spread']:.2f}", f"{f['same_argmax']} of {ROWS}")
        for f in figures["cases"]
    ]
    return Conclusion(
        "A causal mask lets row i see the text and the rows before it: exactly what the i-th draft may see. A chain of "
        "drafts is verified by the pass that a prompt is read with. Only a tree, whose branches must not see each "
        "other, needs another mask.",
        f"{ROWS} rows at once against one by one, a model of random weights and one unchanged pass:"
        + table(("backend", "largest difference of logits", "their spread", "same argmax"), rows),
        Finding(
            tally([f["difference"] > NEAR * max(1.0, f["spread"]) for f in figures["cases"]]),
            "Nothing is modified for a chain. What differs between kernels is rounding, and only where they depend on "
            "the number of rows.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the differences."""
    return bars(
        "Verified at once and decoded one by one",
        "backend",
        "largest difference / spread of logits",
        [f["backend"] for f in figures["cases"]],
        {"six rows": [f["difference"] / f["spread"] for f in figures["cases"]]},
    )
