"""A small GPT-2 that drafts for a given target: distilled on text that the target writes, and on the text given."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from torch.nn import functional

from minispec.engine.drafters.heads import hash_arrays
from minispec.engine.loading import load_tokenizer
from minispec.engine.loading.checkpoint import read_json
from minispec.engine.loading.folder import find_folder
from minispec.errors import OptionError, OutputError, explain, quote
from minispec.lab.training import checkpoint
from minispec.lab.training.data import validation_rows, write_tokens
from minispec.lab.training.export import config_of, file_sha256, hugging_face_tensors, write_weights
from minispec.lab.training.head_card import Acceptance, acceptance_table
from minispec.lab.training.head_stage import load_target
from minispec.lab.training.head_text import HeadText, read_given, write_on
from minispec.lab.training.model import GPT2, Shape
from minispec.lab.training.recipe import Plan
from minispec.lab.training.trainer import Stage
from minispec.theory import best_gamma

NAME = "draft"
#: Folder, within the draft's own, of what a stopped run goes on from; gone when the draft is finished.
WORK = "training"
_TOKENIZER = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json",
    "merges.txt", "generation_config.json",
)  # fmt: skip
#: What a draft's folder holds, whole.
OUTPUT = frozenset({*_TOKENIZER, "model.safetensors", "README.md", "config.json"})
_HEAD_SIZE = 32


@dataclass(frozen=True)
class OwnDraft:
    """How a draft for a target is made.

    Attributes
    ----------
    target : str
        The target's folder or name.
    texts : sequence of Path
        Text files; the last twentieth of each is held out.
    folder : Path
        Of the draft.
    size : str
        Layers and width, as ``2x128``.
    written : int
        Tokens that the target writes, of which every second row is; 0: the text as given alone.
    steps : int
        The most steps, of 8 rows of at most 256 tokens.
    seed : int
    """

    target: str
    texts: Sequence[Path]
    folder: Path
    size: str
    written: int
    steps: int
    seed: int = 40

    @property
    def work(self) -> Path:
        """Where checkpoints are."""
        return self.folder / WORK

    def open(self) -> Stage:
        """Return the training, fresh or where it stopped; the target writes its part first, once.

        Raises
        ------
        InputError
            If the target, its size or a text cannot be used, or a run in the folder began with others.
        """
        source = find_folder(self.target)
        teacher = load_target(source)
        shape = read_size(self.size, teacher.shape)
        row_length = min(256, shape.context)
        end = load_tokenizer(source).encode("<|endoftext|>")[-1]
        given = read_given(source, end, self.texts, None, shape.context)
        inputs = {
            "target": hash_arrays(p.numpy() for p in (teacher.ln_f.weight, teacher.ln_f.bias, teacher.wpe.weight)),
            "text": hashlib.sha256("".join(map(file_sha256, self.texts)).encode()).hexdigest(),
            "number of tokens to write": str(self.written),
        }
        if (last := self.work / "last").is_dir():  # before the target writes for minutes
            checkpoint.require_same_inputs(last, checkpoint.read_state(last), inputs, "--output")
        text = self._write(source, given, end, "".join(inputs.values())) if self.written else given
        mix = {name: share / (2 if self.written else 1) for name, share in given.mix.items()}
        if self.written:
            mix |= {name: share / 2 for name, share in text.mix.items()}
        plan = Plan(
            steps=self.steps, num_rows=8, length=row_length, long_every=4 if shape.context > row_length else 0,
            mix=mix, kl_weight=0.8, validate_every=max(1, min(100, self.steps // 4)), seed=self.seed,
        )  # fmt: skip
        return Stage(
            self.work, {NAME: shape}, plan, {**given.train, **text.train}, given.valid, teacher=teacher, inputs=inputs,
            end_id=end, flag="--output",
        )  # fmt: skip

    def _write(self, source: Path, given: HeadText, end: int, key: str) -> HeadText:
        """Return what the target writes; kept for a run that goes on."""
        kept = self.work / f"written-{hashlib.sha256(f'{key}{self.seed}'.encode()).hexdigest()[:12]}.npy"
        if kept.exists():
            name = "written by the target"
            return HeadText({name: np.load(kept)}, given.valid, {name: 1.0})
        length = min(1024, read_json(source / "config.json").get("n_positions", 1024))
        made = write_on(source, given, end, self.written, length, self.seed)
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_tokens(next(iter(made.train.values())), kept)
        return made

    def finish(self, stage: Stage) -> str:
        """Write the draft's folder from the best checkpoint; return a line on what it promises."""
        source, draft = find_folder(self.target), GPT2(stage.shapes[NAME])
        checkpoint.load_model(draft, self.work / "best" / f"{NAME}.safetensors")
        acceptance = measure(stage, draft)
        teacher = stage.teacher
        assert teacher is not None
        share = draft.num_parameters / teacher.num_parameters
        alpha = sum(each.shares[0] for each in acceptance if each.temperature) / len(stage.valid)
        best = best_gamma(alpha, min(1.0, share), max_gamma=16)
        promise = (
            f"α {alpha:.3f} at temperature 1 on held-out text, {share:.1%} of the target's parameters: "
            + (f"up to {best.speedup:.2f}x with γ = {best.gamma}" if best.gamma else "no gain at any γ")
            + ", if a pass costs as its bytes"
        )
        try:
            self._export(source, draft, stage, acceptance, promise)
        except (OSError, SafetensorError) as error:
            raise OutputError(
                f"{self.folder} cannot be written: {explain(error)}. Free some space; the same command goes on"
            ) from None
        shutil.rmtree(self.work, ignore_errors=True)
        return promise

    def _export(self, source: Path, draft: GPT2, stage: Stage, acceptance: Sequence[Acceptance], promise: str) -> None:
        fresh = self.work / "export"  # what fails on the way leaves nothing where a model is looked for
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir()
        write_weights(hugging_face_tensors(draft), fresh, None)
        for name in _TOKENIZER:
            if (source / name).is_file():
                shutil.copyfile(source / name, fresh / name)
        if not (fresh / "tokenizer.json").is_file():
            (fresh / "tokenizer.json").write_text(load_tokenizer(source).to_json(), encoding="utf-8")
        wrote = f", every second row of {self.written:,} tokens that the target wrote" if self.written else ""
        (fresh / "README.md").write_text(
            f"# A draft of {self.size} for {Path(self.target).name}\n\n"
            f"{draft.num_parameters:,} parameters; distilled for {stage.step:,} steps, {stage.tokens:,} tokens along "
            f"{', '.join(stage.valid)}{wrote}; 0.8 KL(target, draft) + 0.2 cross-entropy, seed {self.seed}.\n\n"
            f"Acceptance of a first draft token on held-out text:\n\n{acceptance_table(acceptance)}\n{promise}.\n",
            encoding="utf-8",
        )
        theirs, ours = read_json(source / "config.json"), config_of(draft.shape)
        ours |= {key: theirs.get(key) for key in ("bos_token_id", "eos_token_id")}
        (fresh / "config.json").write_text(json.dumps(ours, indent=2) + "\n")
        for path in sorted(fresh.iterdir(), key=lambda each: each.name == "config.json"):  # last: now it is a model
            path.replace(self.folder / path.name)


def read_size(size: str, target: Shape) -> Shape:
    """Return the shape that ``LAYERSxWIDTH`` names, with the target's vocabulary and context.

    Raises
    ------
    OptionError
        If it names none, or one that is not smaller than the target.

    Examples
    --------
    >>> shape = read_size("2x128", Shape(8, 384, 6, 1408))
    >>> shape.num_layers, shape.width, shape.num_heads, shape.inner
    (2, 128, 4, 512)
    """
    found = re.fullmatch(r"([0-9]{1,3})x([0-9]{1,5})", size)
    layers, width = map(int, found.groups()) if found else (0, 0)
    if not layers or not width or width % _HEAD_SIZE:
        raise OptionError(
            f"size is {quote(size)}; it must be LAYERSxWIDTH, the width a multiple of {_HEAD_SIZE}. Try --size 2x128"
        )
    if layers * width * width >= target.num_layers * target.width * target.width:
        raise OptionError(
            f"size is {quote(size)}; a draft must be smaller than its target, {target.num_layers}x{target.width}. "
            "Give fewer layers or less width"
        )
    return Shape(layers, width, width // _HEAD_SIZE, 4 * width, target.context, target.vocab_size)


@torch.no_grad()
def measure(stage: Stage, draft: GPT2, num_rows: int = 16) -> list[Acceptance]:
    """Return the acceptance of a first draft token along each held-out text, at temperature 0 and 1."""
    found, teacher = [], stage.teacher
    assert teacher is not None
    was_training = draft.training
    draft.eval()
    for name, tokens in stage.valid.items():
        total, rows = np.zeros(2), validation_rows(tokens, num_rows, stage.plan.length)
        for row in torch.from_numpy(rows[:, None, :-1]):  # one at a time: a large vocabulary takes its memory
            p, q = (functional.softmax(model(row)[0], dim=-1) for model in (teacher, draft))
            total += (p.argmax(-1) == q.argmax(-1)).double().mean().item(), torch.minimum(p, q).sum(-1).mean().item()
        found += [Acceptance(name, "", temperature, (total[temperature] / len(rows),)) for temperature in (0, 1)]
    draft.train(was_training)
    return found
