"""The stages of a preset in their order, each with what it starts from and where it leaves its checkpoints.

::

    drafts      text alone               -> draft-1.6m, draft-0.6m
    target      text alone               -> target-17m
    distilled   drafts + target's law    -> draft-1.6m, draft-0.6m    (bundled)
    control     drafts, no teacher       -> draft-1.6m                (never bundled: tells what the teacher adds)
    code        distilled, code only     -> draft-1.6m-code           (bundled)
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer

from minispec.errors import CheckpointError, OptionError
from minispec.lab.training import checkpoint
from minispec.lab.training.data import END_ID, Batches, load_packed, read_manifest, write_manifest, write_tokens
from minispec.lab.training.export import file_sha256, load_exported, weights_sha256
from minispec.lab.training.generate import WRITTEN, write_text
from minispec.lab.training.mixture import DOMAINS
from minispec.lab.training.model import GPT2, carry_over
from minispec.lab.training.recipe import CODE, DRAFT, TARGET, TINY, Plan, Preset
from minispec.lab.training.trainer import Stage

STAGES = ("drafts", "target", "distilled", "control", "code")
#: The stage whose checkpoint each bundled model comes from.
BUNDLED: Mapping[str, str] = {TARGET: "target", DRAFT: "distilled", TINY: "distilled", CODE: "code"}
#: Models trained side by side in each stage, and the stage and model each one starts from.
MEMBERS: Mapping[str, Mapping[str, tuple[str, str] | None]] = {
    "drafts": {DRAFT: None, TINY: None},
    "target": {TARGET: None},
    "distilled": {DRAFT: ("drafts", DRAFT), TINY: ("drafts", TINY)},
    "control": {DRAFT: ("drafts", DRAFT)},
    "code": {CODE: ("distilled", DRAFT)},
}
#: How `all` shares out the time before a deadline.
TIME_SHARES: Mapping[str, float] = {"drafts": 0.08, "target": 0.52, "distilled": 0.28, "control": 0.07, "code": 0.05}


@dataclass(frozen=True)
class Workshop:
    """A preset and the folder it works in.

    Attributes
    ----------
    preset : Preset
        The recipe.
    work : Path
        Holds ``tokenizer.json``, ``packed/`` (shared by presets) and ``PRESET/STAGE/``.
    """

    preset: Preset
    work: Path

    @property
    def tokenizer_file(self) -> Path:
        """Where the tokenizer is."""
        return self.work / "tokenizer.json"

    @property
    def device(self) -> str:
        """The preset's device; the CPU where there is none, so that what a GPU has trained is reported anywhere."""
        return self.preset.device if torch.cuda.is_available() else "cpu"

    @property
    def packed(self) -> Path:
        """Where the packed tokens are."""
        return self.work / "packed"

    @property
    def written(self) -> Path:
        """Where the tokens are that the target wrote, packed likewise."""
        return self.folder("target") / WRITTEN

    @property
    def manifest(self) -> dict[str, dict[str, object]]:
        """What is known of each text, the target's own too where it has written any."""
        has_written = (self.written / "manifest.json").exists()
        return {**read_manifest(self.packed), **(read_manifest(self.written) if has_written else {})}

    def texts(self, plan: Plan) -> dict[str, np.ndarray]:
        """Open the training texts of a plan; what the target is to write is written first, once."""
        given = load_packed(self.packed, "train", [name for name in plan.mix if name != WRITTEN])
        if WRITTEN not in plan.mix:
            return given
        if not (self.written / "manifest.json").exists():
            self._write(plan, given)
        return {**given, **load_packed(self.written, "train", [WRITTEN])}

    def _write(self, plan: Plan, given: dict[str, np.ndarray]) -> None:
        target = self.load("target", TARGET).to(self.device).eval()
        mix = {name: share for name, share in plan.mix.items() if name != WRITTEN}
        tokens = write_text(target, Batches(given, mix, target.shape.context, plan.seed), plan.written)
        self.written.mkdir(parents=True, exist_ok=True)
        write_tokens(tokens, self.written / f"{WRITTEN}.train.npy")
        text = Tokenizer.from_file(str(self.tokenizer_file)).decode(tokens.tolist())
        entry = {
            "source": f"{TARGET} itself, seed {plan.seed}",
            "sha256": hashlib.sha256(tokens.tobytes()).hexdigest(),
            "documents": int((tokens == END_ID).sum()),
            "chars": len(text),
            "tokens": len(tokens),
        }
        write_manifest({f"{WRITTEN}.train": entry}, self.written)

    def folder(self, stage: str) -> Path:
        """Return the folder of a stage's checkpoints."""
        return self.work / self.preset.name / stage

    def is_finished(self, stage: str) -> bool:
        """Whether a stage has run to its end."""
        last = self.folder(stage) / "last"
        return last.exists() and bool(checkpoint.read_state(last)["finished"])

    def load(self, stage: str, name: str, which: str = "best") -> GPT2:
        """Load one model of a stage's checkpoint.

        Raises
        ------
        CheckpointError
            There is none, or it has another shape.
        """
        model = GPT2(self.preset.shapes[name])
        checkpoint.load_model(model, self.folder(stage) / which / f"{name}.safetensors")
        return model

    def inputs(self, plan: Plan) -> dict[str, str]:
        """Return the SHA-256 of the tokenizer and of each training text of a plan."""
        texts = {name: str(self.manifest[f"{name}.train"]["sha256"]) for name in plan.mix}
        return {"tokenizer": file_sha256(self.tokenizer_file), **texts}

    def initial(self, name: str, folder: Path, new_vocabulary: bool) -> GPT2:
        """Read an exported model to start from.

        Parameters
        ----------
        new_vocabulary : bool
            Whether its token embeddings are to be carried over to this recipe's vocabulary.

        Raises
        ------
        CheckpointError
            It is no exported model, or has another shape than this recipe's, or another vocabulary unasked.
        """
        model = load_exported(folder)
        wanted = asdict(self.preset.shapes[name])
        for key, value in asdict(model.shape).items():
            if value != wanted[key]:
                raise CheckpointError(
                    f"{folder} has {key} {value}; {name} has {wanted[key]}. Start from weights of the same shape"
                )
        if file_sha256(folder / "tokenizer.json") != file_sha256(self.tokenizer_file):
            if not new_vocabulary:
                raise CheckpointError(
                    f"{folder} has another vocabulary than {self.tokenizer_file}; weights know tokens by number. Carry "
                    "them over with --new-vocabulary, or copy its tokenizer.json there and pack again"
                )
            files = (folder / "tokenizer.json", self.tokenizer_file)
            carry_over(model, *(Tokenizer.from_file(str(path)) for path in files))
        return model

    def stage(
        self, name: str, compiled: bool | None = None, init: Path | None = None, new_vocabulary: bool = False
    ) -> Stage:
        """Open a stage, fresh or where it stopped.

        Parameters
        ----------
        name : str
            One of ``STAGES``.
        compiled : bool, optional
            Overrides the preset.
        init : Path, optional
            Folder of exported models to start from, each by its name there, instead of what the stage starts from.
        new_vocabulary : bool
            Whether those weights may have another vocabulary, from which they are then carried over.

        Raises
        ------
        CheckpointError
            A stage it starts from has not finished, or its checkpoint belongs to another run.
        OptionError
            The preset's device is not there.
        """
        if self.device != self.preset.device:
            raise OptionError(
                f"--preset {self.preset.name} trains on {self.preset.device}; PyTorch sees none here. Try --preset cpu"
            )
        plan: Plan = getattr(self.preset, name)
        if name == "control":  # as many steps as its twin took, which a deadline may have shortened
            self._require_finished("distilled", name)
            plan = replace(plan, steps=checkpoint.read_state(self.folder("distilled") / "last")["step"])
        start_from, inputs = {}, {}
        for member, origin in MEMBERS[name].items():
            if init is not None:
                start_from[member] = self.initial(member, init / member, new_vocabulary)
                inputs[f"init {member}"] = weights_sha256(init / member)
            elif origin is not None:
                self._require_finished(origin[0], name)
                start_from[member] = self.load(*origin)
        if plan.has_teacher or WRITTEN in plan.mix:
            self._require_finished("target", name)
        texts = self.texts(plan)
        inputs |= self.inputs(plan)
        teacher = None
        if plan.has_teacher:
            teacher = self.load("target", TARGET).to(self.device).eval().requires_grad_(False)
        return Stage(
            folder=self.folder(name),
            shapes={member: self.preset.shapes[member] for member in MEMBERS[name]},
            plan=plan,
            packed=texts,
            valid=load_packed(self.packed, "valid", [name for name in DOMAINS if plan.mix.keys() & set(DOMAINS[name])]),
            device=self.device,
            compiled=self.preset.compiled if compiled is None else compiled,
            teacher=teacher,
            start_from=start_from,
            inputs=inputs,
        )

    def _require_finished(self, origin: str, stage: str) -> None:
        if not self.is_finished(origin):
            raise CheckpointError(
                f"{self.folder(origin)} holds no finished run; stage {stage} starts from one. Finish {origin} first"
            )
