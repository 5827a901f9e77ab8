"""Every number of the recipe, in one place: shapes, mixes, learning rates, lengths of the stages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from minispec.lab.training.generate import WRITTEN
from minispec.lab.training.mixture import MIX, within
from minispec.lab.training.model import Shape

TARGET = "target-17m"
DRAFT = "draft-1.6m"
TINY = "draft-0.6m"
CODE = "draft-1.6m-code"

SHAPES: Mapping[str, Shape] = {
    TARGET: Shape(num_layers=8, width=384, num_heads=6, inner=1408),
    DRAFT: Shape(num_layers=2, width=128, num_heads=4, inner=512),
    TINY: Shape(num_layers=1, width=64, num_heads=2, inner=256),
    CODE: Shape(num_layers=2, width=128, num_heads=4, inner=512),
}


@dataclass(frozen=True)
class Plan:
    """How one stage trains.

    Attributes
    ----------
    steps : int
        Steps, unless a deadline or early stopping ends the stage before.
    num_rows, length : int
        A batch: rows, and tokens per row.
    long_every : int
        Every so many steps the rows are as long as the context (and as many fewer); 0: never.
    mix : mapping of str to float
        Share of rows per text.
    written : int
        Tokens that the target writes, where `mix` has ``WRITTEN``.
    kl_weight, acceptance_weight : float
        Weights of KL(target ‖ draft) and of -log(alpha) in the loss; the rest is cross-entropy with the text.
    muon_lr : float
        Peak rate for the two-dimensional weights of the blocks (Muon; updates scaled to AdamW's size).
    adamw_lr : float
        Peak rate for embeddings, norms and biases.
    weight_decay, clip : float
        Decoupled weight decay; largest norm of the gradient.
    dropout : float
        Share left out of the residual stream's parts, so that a text read many times is not learnt by heart.
    warmup : int
        Steps of warm-up.
    flat_share : float
        Share of the steps before the rate starts to fall.
    validate_every, patience : int
        Steps between validations; validations without a new best after which the stage stops.
    validation_rows : int
        Held-out rows of `length` per domain; as many tokens are read in rows as long as the context.
    seed : int
        Of the initial weights and the order of the data.
    """

    steps: int
    num_rows: int
    length: int
    long_every: int = 0
    mix: Mapping[str, float] = field(default_factory=lambda: dict(MIX))
    written: int = 0
    kl_weight: float = 0.0
    acceptance_weight: float = 0.0
    muon_lr: float = 5e-3
    adamw_lr: float = 3e-3
    weight_decay: float = 0.1
    clip: float = 1.0
    dropout: float = 0.0
    warmup: int = 60
    flat_share: float = 0.4
    validate_every: int = 100
    patience: int = 12
    validation_rows: int = 32
    seed: int = 20

    @property
    def has_teacher(self) -> bool:
        """Whether the loss asks for the target's distribution."""
        return self.kl_weight > 0 or self.acceptance_weight > 0


@dataclass(frozen=True)
class Preset:
    """A whole recipe: the target, drafts on the text alone, drafts taught by the target, one taught on code.

    Attributes
    ----------
    name : str
        ``"cpu"`` or ``"gpu"``.
    device : str
        What PyTorch calls it.
    compiled : bool
        Whether ``torch.compile`` pays for itself.
    shapes : mapping of str to Shape
        The four models.
    target, drafts, distilled, control, code : Plan
        The stages. `control` repeats `distilled` without a teacher, to tell what the teacher adds.
    """

    name: str
    device: str
    compiled: bool
    shapes: Mapping[str, Shape]
    target: Plan
    drafts: Plan
    distilled: Plan
    control: Plan
    code: Plan


def _preset(
    name: str, device: str, target: Plan, drafts: Plan, distilled: Plan, code_steps: int, compiled: bool = True
) -> Preset:
    distilled = replace(distilled, kl_weight=0.8, seed=22)
    code = replace(
        distilled, steps=code_steps, mix=within("code"), seed=23, muon_lr=2e-3, adamw_lr=1e-3, flat_share=0.2
    )
    return Preset(name, device, compiled, SHAPES, target, drafts, distilled, replace(distilled, kl_weight=0.0), code)


PRESETS: Mapping[str, Preset] = {
    # Two cores, as background work. Short rows, and long ones throughout: a model that meets these at the end only has
    # learnt by then to see nothing behind a short row. The target's rate falls for most of the run, which uses a given
    # number of tokens best; where the end moves (`--finish-by`), it falls on from where it is.
    "cpu": _preset(
        "cpu",
        "cpu",
        target=Plan(steps=6000, num_rows=32, length=256, long_every=4, flat_share=0.3, patience=30),
        drafts=Plan(steps=3000, num_rows=32, length=256, long_every=4, seed=21),
        distilled=Plan(steps=12000, num_rows=8, length=256, long_every=4, validate_every=400),
        code_steps=1600,
    ),
    # One large GPU, minutes: nineteen passes over the stories, with dropout and a strong decay so that they are not
    # learnt by heart (docs/train.md). Half of what the drafts are taught along is the target's own.
    "gpu": _preset(
        "gpu",
        "cuda",
        target=Plan(
            steps=1600,
            num_rows=64,
            length=1024,
            weight_decay=0.5,
            dropout=0.1,
            warmup=200,
            validation_rows=64,
            flat_share=0.3,
        ),
        drafts=Plan(steps=1000, num_rows=64, length=1024, warmup=200, validate_every=200, validation_rows=64, seed=21),
        distilled=Plan(
            steps=1800,
            num_rows=64,
            length=1024,
            mix={**{name: share / 2 for name, share in MIX.items()}, WRITTEN: 0.5},
            written=5_000_000,
            warmup=200,
            validate_every=200,
            validation_rows=64,
        ),
        code_steps=500,
    ),
}
