"""A head for a target: from the target's folder and some text to a folder that ``--draft KIND:head=FOLDER`` takes."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from minispec.drafters.heads import HeadConfig, hash_arrays
from minispec.errors import CorpusError, OptionError, OutputError, explain
from minispec.loading import load_tokenizer
from minispec.loading.checkpoint import Checkpoint, read_json
from minispec.loading.folder import find_folder
from minispec.model import GPT2Config
from minispec.model.weights import expected_shapes
from minispec.tokenizer import Tokenizer
from minispec.training.data import Batches, validation_rows
from minispec.training.export import file_sha256, write_weights
from minispec.training.heads import HEADS, Head, Seen, acceptance_of, loss_of
from minispec.training.model import GPT2, Shape
from minispec.training.schedule import new_schedule

#: Share of the text, at its end, that is kept for the report.
HELD_OUT = 0.05


@dataclass(frozen=True)
class HeadPlan:
    """How a head is made.

    Attributes
    ----------
    kind : str
        ``medusa``, ``eagle`` or ``block``.
    layers : tuple of int
        Whose output it reads, from 1 on; empty: a low, a middle and the top layer (a medusa reads the top one).
    length : int
        Places of the drafts it is trained for.
    width, num_heads, inner, num_layers : int
        Of its own layers.
    num_words : int
        The likeliest tokens of the text, which it can draft; 0: all.
    steps, num_rows, row_length : int
        Steps of training, rows of text per step and tokens per row; at most the target's context.
    rate : float
        Peak learning rate of AdamW.
    fade : float
        Weight of a place against the one before it.
    seed : int
    """

    kind: str
    layers: tuple[int, ...] = ()
    length: int = 5
    width: int = 128
    num_heads: int = 4
    inner: int = 512
    num_layers: int = 1
    num_words: int = 2048
    steps: int = 400
    num_rows: int = 8
    row_length: int = 128
    rate: float = 2e-3
    fade: float = 0.8
    seed: int = 30


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
        Text to read along, UTF-8; documents are separated by lines that hold ``<|endoftext|>`` alone, or files.

    Raises
    ------
    InputError
        Before any work: no model, no text or too little of it, a layer or a width out of range.
    """

    def __init__(self, plan: HeadPlan, target: str | Path, texts: Sequence[Path]) -> None:
        folder = find_folder(target)
        self.target, tokenizer = load_target(folder), load_tokenizer(folder)
        self.plan = plan = replace(plan, row_length=min(plan.row_length, self.target.shape.context))
        self._end = tokenizer.encode("<|endoftext|>")[-1]
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
        tokens = read_tokens(tokenizer, self._end, texts)
        if len(tokens) * HELD_OUT <= plan.row_length + 1:
            least = int((plan.row_length + 1) / HELD_OUT) + 1
            raise CorpusError(f"the texts have {len(tokens)} tokens; a head needs {least} or more. Give more text")
        held_out = int(len(tokens) * (1.0 - HELD_OUT))
        self.tokens, self.valid = tokens[:held_out], tokens[held_out:]
        common = Counter(self.tokens.tolist()).most_common(plan.num_words or None)
        own = plan.kind != "medusa"
        cut = own and 0 < plan.num_words < self.target.shape.vocab_size
        weights = self.target
        self.config = HeadConfig(
            plan.kind,
            folder.name,
            hash_arrays(p.numpy() for p in (weights.ln_f.weight, weights.ln_f.bias, weights.wpe.weight)),
            tuple(sorted(set(layers))),
            plan.length,
            words=tuple(sorted(token for token, _ in common)) if cut else (),
        )
        if own:
            self.config = replace(
                self.config,
                width=plan.width,
                num_heads=plan.num_heads,
                inner=plan.inner,
                num_layers=plan.num_layers,
            )
        torch.manual_seed(plan.seed)
        num_words = len(self.config.words) or self.target.shape.vocab_size
        self.head: Head = HEADS[plan.kind](self.config, self.target.shape.width, num_words)

    def run(self, report_every: int = 50) -> Iterator[HeadTick]:
        """Train; a batch depends on the seed and the step alone."""
        plan, began = self.plan, time.monotonic()
        batches = Batches({"text": self.tokens}, {"text": 1.0}, self.target.shape.context, plan.seed, self._end)
        optimizer = torch.optim.AdamW(self.head.parameters(), lr=plan.rate, betas=(0.9, 0.95), weight_decay=0.01)
        schedule = new_schedule(plan.steps, min(20, plan.steps), 0.5)
        losses: list[float] = []
        for step in range(plan.steps):
            batch = batches.at(step, plan.num_rows, plan.row_length)
            seen = look(self.target, torch.from_numpy(batch.tokens[:, :-1]), torch.from_numpy(batch.offsets))
            places = self.head.places(seen, torch.Generator().manual_seed(plan.seed * 1_000_003 + step))
            loss = loss_of(places, self.head.known, plan.fade)
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

    def measure(self, num_rows: int = 32) -> list[float]:
        """Return the acceptance at each place, T = 1, along held-out text, given that all before it are the text's."""
        rows = torch.from_numpy(validation_rows(self.valid, num_rows, self.plan.row_length))
        total = np.zeros(self.config.length)
        with torch.no_grad():
            parts = torch.split(rows[:, :-1], self.plan.num_rows)
            for number, part in enumerate(parts):
                places = self.head.places(look(self.target, part, 0), torch.Generator().manual_seed(number))
                total += np.asarray(acceptance_of(places, self.head.known), np.float64) * len(part)
        return [float(share) for share in total / len(rows)]

    def export(self, folder: Path, acceptance: Sequence[float]) -> None:
        """Write the head's folder: weights in float16, config, checksums, and a card.

        Raises
        ------
        OutputError
            See :func:`make_head_folder`; or if a file cannot be written.
        """
        make_head_folder(folder)
        tensors = {key: value.detach().to(torch.float16).contiguous() for key, value in self.head.state_dict().items()}
        names = ("config.json", "model.safetensors")
        try:
            write_weights(tensors, folder, None)
            (folder / "config.json").write_text(json.dumps(asdict(self.config), indent=2) + "\n")
            (folder / "README.md").write_text(self._card(acceptance))
            (folder / "SHA256SUMS").write_text("".join(f"{file_sha256(folder / name)}  {name}\n" for name in names))
        except OSError as error:
            raise OutputError(f"{folder} cannot be written: {error.strerror}. Name another folder") from None

    def _card(self, acceptance: Sequence[float]) -> str:
        config, plan = self.config, self.plan
        size = sum(parameter.numel() for parameter in self.head.parameters())
        shares = " | ".join(f"{share:.3f}" for share in acceptance)
        return (
            f"# A {config.kind} head for {config.target}\n\n"
            f"{size:,} parameters; reads the output of layers {', '.join(map(str, config.layers))}; drafts "
            f"{len(config.words) or 'all'} words. Trained for {plan.steps} steps of {plan.num_rows} x "
            f"{plan.row_length} tokens, seed {plan.seed}.\n\n"
            "Acceptance by place at temperature 1, along held-out text, given that all places before it are right:\n\n"
            f"| {' | '.join(str(place + 1) for place in range(config.length))} |\n"
            f"|{'---|' * config.length}\n| {shares} |\n"
        )


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
        If there is none, or it differs from what :class:`minispec.training.model.GPT2` computes.
    """
    config = GPT2Config.from_dict(read_json(folder / "config.json"), str(folder / "config.json"))
    sizes = (config.vocab_size, config.n_positions, config.n_embd, config.n_layer, config.n_head, config.n_inner)
    usual = GPT2Config(*sizes)
    switches = ("activation_function", "layer_norm_epsilon", "scale_attn_weights", "scale_attn_by_inverse_layer_idx")
    for key in (*switches, "tie_word_embeddings"):
        if getattr(config, key) != getattr(usual, key):
            raise OptionError(
                f"{folder}: {key} is {getattr(config, key)!r}; heads are trained for {getattr(usual, key)!r} alone. "
                "Give another target"
            )
    checkpoint = Checkpoint(folder)
    checkpoint.check(config)
    shape = (config.n_layer, config.n_embd, config.n_head, config.n_inner, config.n_positions, config.vocab_size)
    model = GPT2(Shape(*shape))
    names = (name for name, _ in expected_shapes(config))
    model.load_state_dict({name: torch.from_numpy(np.array(checkpoint.read(name), np.float32)) for name in names})
    return model.requires_grad_(False)


def read_tokens(tokenizer: Tokenizer, end: int, paths: Sequence[Path]) -> np.ndarray:
    """Return the tokens of text files, each document followed by ``end``.

    Raises
    ------
    CorpusError
        If a file cannot be read or is not UTF-8.
    """
    documents: list[str] = []
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CorpusError(f"{path} cannot be read as UTF-8 text ({explain(error)}). Give text files") from None
        documents += [part.strip() for part in text.split("<|endoftext|>") if part.strip()]
    if not documents:
        raise CorpusError("the texts are empty; a head is trained along text. Give some with --text")
    return np.array([token for text in documents for token in (*tokenizer.encode(text), end)], np.int64)
