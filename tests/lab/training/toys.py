"""A corpus, shapes and a recipe small enough to train within a second."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

from minispec.lab.training.corpus import END_OF_TEXT
from minispec.lab.training.mixture import MIX, within

if TYPE_CHECKING:
    from minispec.lab.training.recipe import Preset

VOCAB_SIZE = 320


def sentences(seed: int, count: int) -> str:
    """Sentences with enough structure to be learnt: a subject chooses its verb."""
    rng = random.Random(seed)
    verbs = {"the fox": "runs to", "the old king": "speaks of", "a little bird": "sings in"}
    lines = []
    for _ in range(count):
        subject = rng.choice(sorted(verbs))
        lines.append(f"{subject.capitalize()} {verbs[subject]} the {rng.choice(['wood', 'river', 'castle'])}.")
    return "\n".join(lines)


def documents(seed: int) -> str:
    """A corpus file of three documents."""
    return f"\n{END_OF_TEXT}\n".join(sentences(seed + part, 60) for part in range(3)) + "\n"


def toy_preset(context: int = 256) -> Preset:
    """Every stage of the recipe, a few steps each. Needs PyTorch."""
    from minispec.lab.training.generate import WRITTEN
    from minispec.lab.training.model import Shape
    from minispec.lab.training.recipe import CODE, DRAFT, TARGET, TINY, Plan, Preset

    def shape(layers: int, width: int) -> Shape:
        return Shape(layers, width, 2, 2 * width, context, VOCAB_SIZE)

    plan = Plan(
        steps=12, num_rows=8, length=16, long_every=4, warmup=2, validate_every=6, validation_rows=2, adamw_lr=1e-2
    )
    mix = {name: share / 2 for name, share in MIX.items()} | {WRITTEN: 0.5}
    distilled = replace(plan, mix=mix, written=2000, kl_weight=0.8, seed=3)
    return Preset(
        name="toy",
        device="cpu",
        compiled=False,
        shapes={TARGET: shape(2, 32), DRAFT: shape(1, 16), TINY: shape(1, 8), CODE: shape(1, 16)},
        target=replace(plan, dropout=0.1),
        drafts=replace(plan, seed=2),
        distilled=distilled,
        control=replace(distilled, kl_weight=0.0),
        code=replace(distilled, mix=within("code"), seed=4),
    )
