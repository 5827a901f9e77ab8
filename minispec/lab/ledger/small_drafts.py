"""Drafts trained here, in a minute or two each, and how often the bundled target accepts them.

The recipe is that of ``minispec.lab.training`` with few steps, and the smallest bundled shape where nothing else is
said: such drafts are far from trained out. They are compared with each other; where a bundled draft stands beside them,
the entry says so. A draft's checkpoints stay in the work folder, so an interrupted experiment goes on where it was, and
experiments share drafts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from minispec.engine.loading import load_model
from minispec.engine.loading.bundled import DEFAULT_TARGET, bundled_folders
from minispec.engine.model import GPT2
from minispec.errors import MissingDependencyError, OptionError
from minispec.lab.ledger.framework import Setting
from minispec.lab.ledger.instruments import to_interval
from minispec.lab.ledger.verdicts import Interval
from minispec.lab.training.mixture import DOMAINS, MIX, within
from minispec.theory.intervals import mean, simultaneous

if TYPE_CHECKING:
    from torch import Tensor

    from minispec.lab.training import model as torch_model

BATCH_TOKENS = 32 * 256
SEEDS = (1, 2, 3)
"""Each draft is trained once with each; what is independent are these runs, not the texts that judge them."""
PROMPT_TOKENS = 32
_MEMBER = "draft-0.6m"
"""What each is called in its checkpoint, whatever its size."""

Loss = Literal["text", "kl", "acceptance"]


@dataclass(frozen=True)
class Recipe:
    """How a small draft is made.

    Attributes
    ----------
    text : str
        What it reads: ``"mix"``, the target's own; or one of its domains or texts.
    steps : int
        Each sees :data:`BATCH_TOKENS` tokens.
    seed : int
    start : Recipe, str or None
        What it starts from: another recipe, a bundled model's name, or fresh weights.
    loss : Loss
        What it learns: the next token, or the target's distribution by divergence or by acceptance.
    layers, width : int
        Its shape; heads are 32 wide, and the feed-forward layer has four times the width. That of ``draft-0.6m``
        unless told otherwise.
    """

    text: str
    steps: int
    seed: int
    start: Recipe | str | None = None
    loss: Loss = "text"
    layers: int = 1
    width: int = 64

    @property
    def name(self) -> str:
        """A folder's name."""
        own = f"{self.text}-{self.steps}-{self.seed}" + ("" if self.loss == "text" else f"-{self.loss}")
        own += "" if (self.layers, self.width) == (1, 64) else f"-{self.layers}x{self.width}"
        before = self.start.name if isinstance(self.start, Recipe) else self.start
        return own if before is None else f"{before}--{own}"

    @property
    def shape(self) -> torch_model.Shape:
        """The numbers that fix its parameters."""
        from minispec.lab.training.model import Shape

        return Shape(self.layers, self.width, self.width // 32, 4 * self.width)

    @property
    def mix(self) -> dict[str, float]:
        """Share of rows by packed text."""
        if self.text == "mix":
            return dict(MIX)
        return within(self.text) if self.text in DOMAINS else {self.text: 1.0}


def mix_recipe(steps: int, seed: int) -> Recipe:
    """Return a draft on the mix the target was trained on."""
    return Recipe("mix", steps, seed)


def only(text: str, steps: int, seed: int, start: Recipe | str | None = None) -> Recipe:
    """Return a draft on one domain, or on one text of :data:`~minispec.lab.training.mixture.MIX`."""
    return Recipe(text, steps, seed, start)


@dataclass(frozen=True)
class Workshop:
    """Where drafts are made.

    Attributes
    ----------
    packed : Path
        Tokens, as ``python -m minispec.lab.training pack`` leaves them in ``packed/`` of its work folder.
    work : Path
        Keeps the drafts.
    """

    packed: Path
    work: Path

    def __post_init__(self) -> None:
        try:
            import torch  # noqa: F401
        except ImportError:
            raise MissingDependencyError(
                "this experiment trains drafts and torch is not installed; install the extra train"
            ) from None
        if not os.path.isfile(self.packed / "manifest.json"):  # also where a name is too long
            raise OptionError(
                f"{self.packed} holds no packed text (no manifest.json); make it with `python -m minispec.lab.training "
                "pack` and give its folder with --packed"
            )

    def train(self, recipe: Recipe) -> Mapping[str, Tensor]:
        """Train a draft, or go on with it, or read it; return its parameters."""
        from minispec.lab.training.data import load_packed
        from minispec.lab.training.export import load_exported
        from minispec.lab.training.recipe import TARGET, Plan
        from minispec.lab.training.trainer import Stage

        plan = Plan(
            steps=recipe.steps,
            num_rows=32,
            length=256,
            mix=recipe.mix,
            warmup=min(12, recipe.steps // 4),
            validate_every=recipe.steps,
            seed=recipe.seed,
            kl_weight=float(recipe.loss == "kl"),
            acceptance_weight=float(recipe.loss == "acceptance"),
        )
        if recipe.start is not None:  # what is there already is to be bent, not broken
            plan = replace(plan, muon_lr=plan.muon_lr / 2.5, adamw_lr=plan.adamw_lr / 3)
        packed = load_packed(self.packed, "train", tuple(recipe.mix))
        teacher = None
        if plan.has_teacher:
            teacher = load_exported(bundled_folders()[TARGET]).eval().requires_grad_(False)
        stage = Stage(
            self.work / recipe.name, {_MEMBER: recipe.shape}, plan, packed, {}, teacher=teacher,
            inputs=self.inputs(recipe),
        )  # fmt: skip
        if recipe.start is not None and stage.step == 0:
            stage.models[_MEMBER].load_state_dict(self._start(recipe.start))
        for _ in stage.run():
            pass
        parameters: Mapping[str, Tensor] = stage.models[_MEMBER].state_dict()
        return parameters

    def inputs(self, recipe: Recipe) -> dict[str, str]:
        """Return the SHA-256 of all that a draft is made from, which its name does not tell."""
        from minispec.lab.training.export import file_sha256, weights_sha256
        from minispec.lab.training.recipe import TARGET

        found = {name: file_sha256(self.packed / f"{name}.train.npy") for name in recipe.mix}
        if recipe.loss != "text":
            found["target"] = weights_sha256(bundled_folders()[TARGET])
        if isinstance(recipe.start, Recipe):
            found |= {f"{name} of its start": digest for name, digest in self.inputs(recipe.start).items()}
        elif recipe.start is not None:
            found[recipe.start] = weights_sha256(bundled_folders()[recipe.start])
        return found

    def make(self, recipe: Recipe) -> torch_model.GPT2:
        """Train a draft, or read it, for PyTorch."""
        from minispec.lab.training.model import GPT2

        draft = GPT2(recipe.shape)
        draft.load_state_dict(self.train(recipe))
        draft.eval()
        return draft

    def load(self, recipe: Recipe) -> GPT2:
        """Train a draft, or read it, for the engine."""
        from minispec.lab.training.export import export_model

        folder = self.work / recipe.name / "exported"
        export_model(self.make(recipe), bundled_folders()[DEFAULT_TARGET] / "tokenizer.json", folder)
        return load_model(str(folder), dtype="float32")

    def _start(self, start: Recipe | str) -> Mapping[str, Tensor]:
        from minispec.lab.training.export import load_exported

        return self.train(start) if isinstance(start, Recipe) else load_exported(bundled_folders()[start]).state_dict()

    def acceptance(
        self, recipes: Sequence[Recipe | str], rows: int, new_tokens: int, temperature: float, seed: int = 7
    ) -> dict[str, dict[str, float]]:
        """Return draft -> domain -> alpha, the mean of sum min(p, q) on text the target wrote.

        Parameters
        ----------
        recipes : sequence of Recipe or str
            Drafts made here, and bundled ones by name.
        rows, new_tokens : int
            Held-out beginnings per domain, and what the target writes after each.
        """
        import torch

        from minispec.lab.training.data import load_packed, validation_rows
        from minispec.lab.training.export import load_exported
        from minispec.lab.training.measure import agreement
        from minispec.lab.training.recipe import TARGET

        drafts = {}
        for recipe in recipes:
            if isinstance(recipe, str):
                drafts[recipe] = load_exported(bundled_folders()[recipe]).eval()
            else:
                drafts[recipe.name] = self.make(recipe)
        target = load_exported(bundled_folders()[TARGET])
        found: dict[str, dict[str, float]] = {name: {} for name in drafts}
        for domain, tokens in load_packed(self.packed, "valid", tuple(DOMAINS)).items():
            prompts = torch.from_numpy(validation_rows(np.asarray(tokens), rows, PROMPT_TOKENS)[:, :-1])
            for name, value in agreement(target, drafts, prompts, new_tokens, temperature, 5, seed).items():
                found[name][domain] = value.alpha.value or 0.0
        return found


def over_seeds(values: Sequence[float], of: int = 1) -> Interval:
    """Return the mean of one figure a seed, with Student's interval; ``of`` so many that one verdict reads."""
    return to_interval(mean(values, simultaneous(of)))


def workshop(setting: Setting) -> Workshop:
    """Return the workshop a setting names.

    Raises
    ------
    OptionError
        If it names no packed text.
    """
    if setting.packed is None:
        raise OptionError(
            "this experiment trains drafts and needs packed text; make it with "
            "`python -m minispec.lab.training pack` and "
            "give its folder with --packed"
        )
    return Workshop(setting.packed, setting.work)
