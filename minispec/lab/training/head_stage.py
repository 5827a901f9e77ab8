"""A head for a target: from the target's folder and some text to a folder that ``--draft KIND:head=FOLDER`` takes."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from minispec.engine.drafters.heads import HeadConfig, hash_arrays
from minispec.engine.loading import load_tokenizer
from minispec.engine.loading.checkpoint import Checkpoint, read_json
from minispec.engine.loading.folder import find_folder
from minispec.engine.model import GPT2Config
from minispec.engine.model.weights import expected_shapes
from minispec.errors import OptionError, OutputError
from minispec.lab.training.data import Batches, validation_rows
from minispec.lab.training.export import file_sha256, write_weights
from minispec.lab.training.head_card import Ablations, Acceptance, HeadPlan, write_card
from minispec.lab.training.head_text import read_given, write_on
from minispec.lab.training.heads import HEADS, Head, Seen, acceptance_of, loss_of
from minispec.lab.training.model import GPT2, Shape
from minispec.lab.training.trainer import bfloat16_pays, new_schedule

#: What a head may be trained without, to tell what it adds.
ABLATIONS = {"states": ("eagle", "block"), "own states": ("eagle",)}


@dataclass(frozen=True)
class HeadTick:
    """One reported step: steps done, mean loss since the last tick, seconds so far."""

    step: int
    loss: float
    seconds: float


class HeadStage:
    """The training of one head.

    Parameters
    ----------
    plan : HeadPlan
    target : str or Path
        The target's folder or name.
    texts : sequence of Path
        Text to read along, UTF-8; documents are separated by ``<|endoftext|>``. Each file is reported by itself.
    work : Path, optional
        The recipe's work folder, whose packed text is read along instead; each domain is reported by itself.

    Raises
    ------
    InputError
        Before any work: no model, no text or too little of it, a layer or a width out of range.
    """

    def __init__(
        self, plan: HeadPlan, target: str | Path, texts: Sequence[Path] = (), work: Path | None = None
    ) -> None:
        self._folder = folder = find_folder(target)
        self.target = load_target(folder)
        self.plan = plan = replace(plan, row_length=min(plan.row_length, self.target.shape.context))
        self._end = load_tokenizer(folder).encode("<|endoftext|>")[-1]
        depth = self.target.shape.num_layers
        layers = plan.layers or ((depth,) if plan.kind == "medusa" else choose_layers(depth))
        if plan.kind == "medusa" and layers != (depth,):
            raise OptionError(f"--layers is {list(layers)}; a medusa reads layer {depth}, the last. Leave it out")
        if not all(1 <= layer <= depth for layer in layers):
            raise OptionError(f"--layers is {list(layers)}; {target} has layers 1 to {depth}. Name some of them")
        if plan.width % plan.num_heads:
            raise OptionError(f"--width is {plan.width}; it must be a multiple of {plan.num_heads} heads. Change one")
        if plan.length >= plan.row_length:
            raise OptionError(
                f"--length is {plan.length}; a draft must be shorter than a row of text, {plan.row_length} tokens for "
                f"{target}. Give {plan.row_length - 1} or less"
            )
        self.text = read_given(folder, self._end, texts, work, plan.row_length)
        own = plan.kind != "medusa"
        cut = own and 0 < plan.num_words < self.target.shape.vocab_size
        weights = self.target
        self.config = HeadConfig(
            plan.kind,
            folder.name,
            hash_arrays(p.numpy() for p in (weights.ln_f.weight, weights.ln_f.bias, weights.wpe.weight)),
            tuple(sorted(set(layers))),
            plan.length,
            words=tuple(sorted(self.text.likeliest(plan.num_words))) if cut else (),
        )
        if own:
            self.config = replace(
                self.config,
                width=plan.width,
                num_heads=plan.num_heads,
                inner=plan.inner,
                num_layers=plan.num_layers,
            )
        self.head, self._halves = self._make_head(), bfloat16_pays("cpu")

    def _make_head(self) -> Head:
        torch.manual_seed(self.plan.seed)
        num_words = len(self.config.words) or self.target.shape.vocab_size
        head: Head = HEADS[self.plan.kind](self.config, self.target.shape.width, num_words)
        head.sees_states = self.plan.without != "states"
        head.begin_with(self.target)
        return head

    def make_ablations(self, steps: int) -> list[HeadStage]:
        """Return stages of the same text and seed: the head, and it without each of what sets it apart.

        Parameters
        ----------
        steps : int
            For all of them, so that they compare; fewer than the head's own will tell.

        Raises
        ------
        OptionError
            If the kind has nothing that can be left out.
        """
        made = []
        for without, kinds in {"": tuple(HEADS), **ABLATIONS}.items():
            if self.plan.kind in kinds:
                stage = copy.copy(self)
                stage.plan = replace(self.plan, without=without, steps=steps)
                stage.head = stage._make_head()
                made.append(stage)
        if len(made) == 1:
            raise OptionError(f"a {self.plan.kind} is its states and nothing else; leave --ablate out")
        return made

    def write(self) -> None:
        """Let the target write what the head is trained along."""
        row_length = min(4 * self.plan.row_length, self.target.shape.context)
        self.text = write_on(self._folder, self.text, self._end, self.plan.written, row_length, self.plan.seed)
        self.plan = replace(self.plan, written=sum(map(len, self.text.train.values())))  # whole rows: somewhat more

    def run(self, report_every: int = 50) -> Iterator[HeadTick]:
        """Train; a batch depends on the seed and the step alone."""
        plan, began = self.plan, time.monotonic()
        batches = Batches(self.text.train, self.text.mix, self.target.shape.context, plan.seed, self._end)
        optimizer = torch.optim.AdamW(self.head.parameters(), lr=plan.rate, betas=(0.9, 0.95), weight_decay=0.01)
        schedule = new_schedule(plan.steps, min(20, plan.steps), 0.5)
        losses: list[float] = []
        for step in range(plan.steps):
            batch = batches.at(step, plan.num_rows, plan.row_length)
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self._halves):
                seen = look(self.target, torch.from_numpy(batch.tokens[:, :-1]), torch.from_numpy(batch.offsets))
                places = self.head.places(seen, torch.Generator().manual_seed(plan.seed * 1_000_003 + step))
                loss = loss_of(places[:1] if plan.without == "own states" else places, self.head.known, plan.fade)
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            torch.nn.utils.clip_grad_norm_(self.head.parameters(), 1.0)
            for group in optimizer.param_groups:
                group["lr"] = plan.rate * schedule.scale(step)
            optimizer.step()
            losses.append(loss.item())
            if (step + 1) % report_every == 0 or step + 1 == plan.steps:
                yield HeadTick(step + 1, sum(losses) / len(losses), time.monotonic() - began)
                losses = []

    def measure(self, num_rows: int = 32) -> list[Acceptance]:
        """Return the acceptance along each held-out text, at temperature 0 and 1."""
        found = []
        for name, tokens in self.text.valid.items():
            rows = torch.from_numpy(validation_rows(tokens, num_rows, self.plan.row_length))
            total = np.zeros((2, self.config.length))
            with torch.no_grad():
                for number, part in enumerate(torch.split(rows[:, :-1], self.plan.num_rows)):
                    places = self.head.places(look(self.target, part, 0), torch.Generator().manual_seed(number))
                    total += np.asarray(acceptance_of(places, self.head.known), np.float64) * len(part)
            shares = (total / len(rows)).tolist()
            found += [Acceptance(name, self.plan.without, temperature, shares[temperature]) for temperature in (0, 1)]
        return found

    def export(self, folder: Path, acceptance: Sequence[Acceptance], ablations: Ablations | None = None) -> None:
        """Write the head's folder: weights in float16, config, checksums, and a card.

        Raises
        ------
        OutputError
            See :func:`make_head_folder`; or if a file cannot be written.
        """
        make_head_folder(folder)
        count = sum(p.numel() for p in self.head.parameters())
        tensors = {key: value.detach().to(torch.float16).contiguous() for key, value in self.head.state_dict().items()}
        card = write_card(self.plan, self.config, count, count / self.target.num_parameters, acceptance, ablations)
        names = ("config.json", "model.safetensors")
        try:
            write_weights(tensors, folder, None)
            (folder / "config.json").write_text(json.dumps(asdict(self.config), indent=2) + "\n")
            (folder / "README.md").write_text(card)
            (folder / "SHA256SUMS").write_text("".join(f"{file_sha256(folder / name)}  {name}\n" for name in names))
        except OSError as error:
            raise OutputError(f"{folder} cannot be written: {error.strerror}. Name another folder") from None


def make_head_folder(folder: Path) -> None:
    """Make a folder for a head; one that is there must be empty, or a head's: what it holds will be replaced.

    Raises
    ------
    OutputError
        If it holds something else, or cannot be made.
    """
    config = folder / "config.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_free = not any(folder.iterdir()) or (config.is_file() and read_json(config).get("kind") in HEADS)
    except OSError as error:
        raise OutputError(f"{folder} cannot be made: {error.strerror}. Name another folder") from None
    if not is_free:
        raise OutputError(f"{folder} holds something else than a head, which would be replaced. Name a new folder")


def choose_layers(depth: int) -> tuple[int, ...]:
    """Return a low, a middle and the top layer of `depth`, as EAGLE-3 reads them.

    Examples
    --------
    >>> choose_layers(8), choose_layers(2), choose_layers(1)
    ((2, 4, 8), (1, 2), (1,))
    """
    return tuple(sorted({max(1, depth // 4), max(1, depth // 2), depth}))


def look(target: GPT2, tokens: Tensor, offsets: Tensor | int) -> Seen:
    """Read rows of text, (B, T), with the target."""
    with torch.no_grad():
        states = target.states(tokens, offsets)
        final, head = target.ln_f(states[-1]), target.wte.weight
        probs = functional.softmax(functional.linear(final, head), dim=-1)
        return Seen(tokens, target.wte(tokens), states, final, probs, head)


def load_target(folder: Path) -> GPT2:
    """Read a GPT-2 of any origin into PyTorch.

    Raises
    ------
    InputError
        If there is none, or it differs from what :class:`minispec.lab.training.model.GPT2` computes.
    """
    config = GPT2Config.from_dict(read_json(folder / "config.json"), str(folder / "config.json"))
    checkpoint = Checkpoint(folder)
    config = checkpoint.check(config)
    sizes = (config.vocab_size, config.n_positions, config.n_embd, config.n_layer, config.n_head, config.n_inner)
    usual = GPT2Config(*sizes)
    switches = ("activation_function", "layer_norm_epsilon", "scale_attn_weights", "scale_attn_by_inverse_layer_idx")
    for key in (*switches, "tie_word_embeddings"):
        if getattr(config, key) != getattr(usual, key):
            raise OptionError(
                f"{folder}: {key} is {getattr(config, key)!r}; training is for {getattr(usual, key)!r} alone. "
                "Give another target"
            )
    shape = (config.n_layer, config.n_embd, config.n_head, config.n_inner, config.n_positions, config.vocab_size)
    model = GPT2(Shape(*shape))
    names = (name for name, _ in expected_shapes(config))
    model.load_state_dict({name: torch.from_numpy(np.array(checkpoint.read(name), np.float32)) for name in names})
    return model.requires_grad_(False)
