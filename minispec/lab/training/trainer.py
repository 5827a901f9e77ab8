"""The training loop, the same for every stage: some models, one stream of batches, perhaps a teacher.

A stage is a generator of records; printing them is the caller's business. Stopped anywhere, it goes on from its
checkpoint bit for bit: a batch depends on (seed, step) alone, and weights, optimizer state and schedule are all saved.

The learning rate warms up, stays flat and falls linearly, *from wherever it is now*: a run may have to end at a given
time on a machine whose speed varies, so the end can be moved at any step without a jump, and a run cut short still
finishes with a rate near zero.

A draft learns the next token of the text and the target's whole distribution over it. The acceptance probability at a
position is ``alpha = sum(min(p, q)) = 1 - TV(p, q)``, and ``TV <= sqrt(KL(p ‖ q) / 2)`` (Pinsker): driving the
divergence down drives acceptance up. Unlike the text, p says how good every *other* token would have been. A draft may
also be trained on acceptance itself, by ``-log alpha``; DistillSpec (Zhou et al. 2023) trains on ``1 - alpha``, whose
gradient nearly vanishes where p and q hardly overlap.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.optim import AdamW, Muon, Optimizer

from minispec.errors import CheckpointError
from minispec.lab.training import checkpoint
from minispec.lab.training.data import END_ID, Batches, validation_rows
from minispec.lab.training.model import GPT2, Shape
from minispec.lab.training.recipe import Plan


@dataclass(frozen=True)
class Schedule:
    """Share of the peak learning rate at each step.

    Attributes
    ----------
    warmup, decay_from, end : int
        Steps of linear warm-up; the step the fall begins; the number of steps in all.
    flat_share : float
        Where the fall begins, as a share of `end`, whenever `end` moves before it began.
    level, final : float
        Share of the peak where the fall begins, and where it ends.
    """

    warmup: int
    decay_from: int
    end: int
    flat_share: float
    level: float = 1.0
    final: float = 0.02

    def scale(self, step: int) -> float:
        """Return the share of the peak learning rate that `step` uses."""
        warm = min(1.0, (step + 1) / self.warmup) if self.warmup else 1.0
        if step < self.decay_from:
            return warm * self.level
        left = (self.end - step) / max(1, self.end - self.decay_from)
        return warm * (self.final + (self.level - self.final) * max(0.0, left))

    def move_end(self, step: int, end: int) -> Schedule:
        """Return the schedule with another end, continuous at `step`."""
        end = max(end, step + 1)
        decay_from = int(self.flat_share * end)
        if step < self.decay_from:
            return replace(self, decay_from=max(step, decay_from), end=end)
        # already falling (warm-up is over by then): fall on from here
        return replace(self, decay_from=step, level=self.scale(step), end=end)


def new_schedule(steps: int, warmup: int, flat_share: float) -> Schedule:
    """Return the schedule of a fresh run of `steps` steps."""
    return Schedule(min(warmup, steps // 4), int(flat_share * steps), steps, flat_share)


def loss_of(
    model: GPT2,
    rows: Tensor,
    offsets: Tensor,
    teacher_logits: Tensor | None,
    kl_weight: float,
    acceptance_weight: float = 0.0,
) -> Tensor:
    """Return the training loss of `model` on a batch.

    Parameters
    ----------
    rows : Tensor of shape (B, T + 1), int64
        Inputs and, one to the right, targets.
    offsets : Tensor of shape (B,), int64
        Position of each row's first token.
    teacher_logits : Tensor of shape (B, T, V), optional
        The target's logits on the same inputs.
    kl_weight, acceptance_weight : float
        v and w in ``v * KL(p ‖ q) - w * log(alpha) + (1 - v - w) * cross_entropy``; without a teacher the loss is the
        cross-entropy.
    """
    logits = model(rows[:, :-1], offsets).float().flatten(0, 1)  # (B * T, V)
    cross_entropy = functional.cross_entropy(logits, rows[:, 1:].flatten())
    if teacher_logits is None:
        return cross_entropy
    log_q = functional.log_softmax(logits, dim=-1)
    log_p = functional.log_softmax(teacher_logits.float().flatten(0, 1), dim=-1)
    loss = (1.0 - kl_weight - acceptance_weight) * cross_entropy
    if kl_weight:  # KL(p ‖ q) = sum p (log p - log q), the mean over positions
        loss = loss + kl_weight * functional.kl_div(log_q, log_p, reduction="batchmean", log_target=True)
    if acceptance_weight:
        loss = loss - acceptance_weight * torch.minimum(log_p, log_q).logsumexp(dim=-1).mean()
    return loss


#: Seconds between checkpoints.
CHECKPOINT_EVERY_S = 300.0
#: Share of the time left that a run with a deadline keeps in hand.
MARGIN = 0.03


@dataclass(frozen=True)
class Tick:
    """One reported step.

    Attributes
    ----------
    step, end : int
        Steps done and steps in all (as planned now).
    tokens : int
        Tokens seen so far.
    losses : dict of str to float
        Mean loss of each model since the last tick.
    tokens_per_s : float
        Speed over the last steps.
    validation : dict of str to dict of str to float, or None
        Cross-entropy per model and domain, in nats a token, when this step validated.
    """

    step: int
    end: int
    tokens: int
    losses: dict[str, float]
    tokens_per_s: float
    validation: dict[str, dict[str, float]] | None


@dataclass
class Stage:
    """One training run.

    Attributes
    ----------
    folder : Path
        Where checkpoints go: ``last`` to resume from, ``best`` by held-out loss.
    shapes : mapping of str to Shape
        The models trained side by side on the same batches.
    plan : Plan
        How.
    packed, valid : mapping of str to ndarray
        Training and held-out tokens by domain.
    device : str
        PyTorch device.
    compiled : bool
        Whether to compile the step.
    teacher : GPT2, optional
        Needed if the plan asks for one.
    start_from : mapping of str to GPT2
        Model of the same shape that each one starts from, instead of fresh weights.
    inputs : mapping of str to str
        SHA-256 of the tokenizer, of each text, and of given weights: a run goes on only with those it began with.
    end_id : int
        The token that ends a document of the texts.
    flag : str
        The option that names the folder, or another.
    stop_requested : bool
        Set it (from a signal handler, say) to save and stop after the current step.
    """

    folder: Path
    shapes: Mapping[str, Shape]
    plan: Plan
    packed: Mapping[str, np.ndarray]
    valid: Mapping[str, np.ndarray]
    device: str = "cpu"
    compiled: bool = False
    teacher: GPT2 | None = None
    start_from: Mapping[str, GPT2] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    end_id: int = END_ID
    flag: str = "--work"

    models: dict[str, GPT2] = field(init=False, default_factory=dict)
    optimizers: dict[str, list[Optimizer]] = field(init=False, default_factory=dict)
    names: dict[Tensor, str] = field(init=False, default_factory=dict)
    schedule: Schedule = field(init=False)
    step: int = field(init=False, default=0)
    tokens: int = field(init=False, default=0)
    best: float = field(init=False, default=math.inf)
    stale: int = field(init=False, default=0)
    history: list[dict[str, Any]] = field(init=False, default_factory=list)
    stop_requested: bool = field(init=False, default=False)
    _halves: bool = field(init=False)

    def __post_init__(self) -> None:
        """Build models and optimizers, fresh or from the last checkpoint."""
        torch.manual_seed(self.plan.seed)
        for name, shape in self.shapes.items():
            model = GPT2(shape, self.plan.dropout)
            if name in self.start_from:
                model.load_state_dict(self.start_from[name].state_dict())
            self.models[name] = model.to(self.device)
            self.optimizers[name] = build_optimizers(model, self.plan)
            self.names.update({parameter: key for key, parameter in model.named_parameters()})
        self.schedule = new_schedule(self.plan.steps, self.plan.warmup, self.plan.flat_share)
        self._halves = bfloat16_pays(self.device)
        # weights, Adam's two moments and as much again while an old checkpoint is replaced, twice (last and best)
        num_bytes = sum(4 * model.num_parameters for model in self.models.values())
        if (self.folder / "last").exists():
            self._resume()
        checkpoint.require_room(self.folder, 8 * num_bytes, self.flag)

    def _resume(self) -> None:
        last = self.folder / "last"
        state = checkpoint.read_state(last)
        defaults = {one.name: one.default for one in fields(Plan)}  # a plan from before a field was added lacks it
        ours, theirs = asdict(self.plan), {**defaults, **state["plan"]}
        changed = sorted(name for name in theirs if name not in ours or theirs[name] != ours[name])
        if changed:
            raise CheckpointError(
                f"{last} was trained with other {', '.join(changed)}; a run goes on with the numbers it began with. "
                f"Give a folder of its own with {self.flag}, or delete the checkpoint"
            )
        began_with = checkpoint.require_same_inputs(last, state, self.inputs, self.flag)
        for name, model in self.models.items():
            checkpoint.load_model(model, last / f"{name}.safetensors", self.flag)
        checkpoint.restore_optimizers(self.optimizers, self.names, last / "optimizer.safetensors")
        self.inputs = began_with
        self.schedule = Schedule(**state["schedule"])
        self.step, self.tokens = state["step"], state["tokens"]
        self._halves = state.get("bfloat16", self._halves)  # not measured again: a busy machine would answer otherwise
        self.best, self.stale, self.history = state["best"] or math.inf, state["stale"], state["history"]

    def save(self, name: str) -> None:
        """Write checkpoint `name` (``last`` or ``best``)."""
        state = {
            "step": self.step,
            "tokens": self.tokens,
            "finished": self.finished,
            "best": self.best if math.isfinite(self.best) else None,
            "stale": self.stale,
            "bfloat16": self._halves,
            "schedule": asdict(self.schedule),
            "plan": asdict(self.plan),
            "inputs": dict(self.inputs),
            "shapes": {key: asdict(shape) for key, shape in self.shapes.items()},
            "history": self.history,
        }
        tensors = checkpoint.optimizer_tensors(self.optimizers, self.names) if name == "last" else {}
        checkpoint.save(self.folder / name, self.models, tensors, state)

    @property
    def context(self) -> int:
        """Positions the models have."""
        return min(shape.context for shape in self.shapes.values())

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do."""
        return self.step >= self.schedule.end or self.stale >= self.plan.patience

    def _rows(self) -> tuple[int, int]:
        """Rows and length of the next batch: as many tokens, now and then in rows as long as the context."""
        plan, context = self.plan, self.context
        if plan.long_every and (self.step + 1) % plan.long_every == 0:
            return max(1, plan.num_rows * plan.length // context), context
        return plan.num_rows, plan.length

    def validate(self) -> dict[str, dict[str, float]]:
        """Return the held-out cross-entropy of each model on each held-out text, in rows as long as the context."""
        result: dict[str, dict[str, float]] = {name: {} for name in self.models}
        num_rows = max(1, self.plan.validation_rows * self.plan.length // self.context)
        with torch.inference_mode():
            for domain, tokens in self.valid.items():
                rows = torch.from_numpy(validation_rows(tokens, num_rows, self.context))
                for name, model in self.models.items():
                    result[name][domain] = mean_loss(model.eval(), rows, self.device)
                    model.train()
        return result

    def run(
        self, deadline: float | None = None, stop_at: float | None = None, report_every: int = 10
    ) -> Iterator[Tick]:
        """Train until the schedule ends, early stopping, or the clock.

        Parameters
        ----------
        deadline : float, optional
            ``time.time()`` by which the stage should be *finished*: its end moves to what fits.
        stop_at : float, optional
            ``time.time()`` at which to save and return, to be resumed later.
        report_every : int
            Steps between ticks.
        """
        plan, mix = self.plan, Batches(self.packed, self.plan.mix, self.context, self.plan.seed, self.end_id)
        compute: Callable[..., Tensor] = torch.compile(loss_of, dynamic=False) if self.compiled else loss_of
        saved_at, moments = time.time(), deque[float](maxlen=60)
        losses: dict[str, list[float]] = {name: [] for name in self.models}
        while not (self.finished or self.stop_requested or (stop_at is not None and time.time() >= stop_at)):
            batch = mix.at(self.step, *self._rows())
            for name, loss in self._update(compute, batch.tokens, batch.offsets).items():
                losses[name].append(loss)
            self.step += 1
            self.tokens += batch.tokens[:, 1:].size
            moments.append(time.time())
            validation = None
            if self.step % plan.validate_every == 0 or self.step == self.schedule.end:
                validation = self._keep_best()
            if self.step % report_every == 0 or validation is not None:
                # the median: a run that was paused (SIGSTOP) must not take the pause for its pace
                pace = float(np.median(np.diff(moments))) if len(moments) > 1 else 0.0
                if deadline is not None and len(moments) > 20 and not self.finished:
                    left = int((deadline - time.time()) * (1 - MARGIN) / pace)
                    self.schedule = self.schedule.move_end(self.step, min(plan.steps, self.step + left))
                speed = plan.num_rows * plan.length / pace if pace else 0.0
                means = {name: sum(values) / len(values) for name, values in losses.items()}
                losses = {name: [] for name in self.models}
                yield Tick(self.step, self.schedule.end, self.tokens, means, speed, validation)
            if time.time() - saved_at > CHECKPOINT_EVERY_S:
                self.save("last")
                saved_at = time.time()
        self.save("last")

    def _update(self, compute: Callable[..., Tensor], tokens: np.ndarray, offsets: np.ndarray) -> dict[str, float]:
        """Take one optimizer step with every model; return the losses."""
        torch.manual_seed(self.plan.seed << 32 | self.step)  # so that dropout, too, is a function of (seed, step)
        rows, places = torch.from_numpy(tokens).to(self.device), torch.from_numpy(offsets).to(self.device)
        teacher_logits = None
        if self.teacher is not None:
            with torch.no_grad(), self._autocast():
                teacher_logits = self.teacher(rows[:, :-1], places)
        losses, scale, plan = {}, self.schedule.scale(self.step), self.plan
        for name, model in self.models.items():
            with self._autocast():
                loss = compute(model, rows, places, teacher_logits, plan.kl_weight, plan.acceptance_weight)
            torch.autograd.backward(loss)
            torch.nn.utils.clip_grad_norm_(model.parameters(), plan.clip)
            for optimizer in self.optimizers[name]:
                for group in optimizer.param_groups:
                    group["lr"] = group["peak_lr"] * scale
                optimizer.step()
                optimizer.zero_grad()
            losses[name] = loss.item()
        return losses

    def _autocast(self) -> torch.autocast:
        return torch.autocast(self.device, dtype=torch.bfloat16, enabled=self._halves)

    def _keep_best(self) -> dict[str, dict[str, float]]:
        validation = self.validate()
        values = [loss for domains in validation.values() for loss in domains.values()]
        self.history.append({"step": self.step, "tokens": self.tokens, "validation": validation})
        if (mean := sum(values) / max(1, len(values))) < self.best:
            self.best, self.stale = mean, 0
            self.save("best")
        else:
            self.stale += 1
        return validation


def build_optimizers(model: GPT2, plan: Plan) -> list[Optimizer]:
    """Muon for the matrices inside the blocks, AdamW for everything else."""
    matrices = [
        parameter for key, parameter in model.named_parameters() if key.startswith("h.") and parameter.ndim == 2
    ]
    inside = set(map(id, matrices))
    others = [parameter for parameter in model.parameters() if id(parameter) not in inside]
    muon = Muon(matrices, lr=plan.muon_lr, weight_decay=plan.weight_decay, adjust_lr_fn="match_rms_adamw")
    adamw = AdamW(others, lr=plan.adamw_lr, betas=(0.9, 0.95), weight_decay=plan.weight_decay)
    for optimizer in (muon, adamw):
        for group in optimizer.param_groups:
            group["peak_lr"] = group["lr"]
    return [muon, adamw]


def bfloat16_pays(device: str) -> bool:
    """Return whether this machine multiplies faster in bfloat16 than in float32; some processors only can, slowly."""
    if device != "cpu":
        return True
    x, weight = torch.ones(2048, 512), torch.ones(1024, 512)
    seconds: dict[torch.dtype, float] = {}
    for _ in range(5):  # the least of a few, in turn: whatever else runs here only adds to them
        for dtype in (torch.float32, torch.bfloat16):
            a, b = x.to(dtype), weight.to(dtype)
            started = time.perf_counter()
            functional.linear(a, b)
            seconds[dtype] = min(seconds.get(dtype, math.inf), time.perf_counter() - started)
    return seconds[torch.bfloat16] < seconds[torch.float32]


def mean_loss(model: GPT2, rows: Tensor, device: str, rows_at_once: int = 8) -> float:
    """Return the mean cross-entropy, in nats a token, over rows that start at position 0."""
    total = 0.0
    for part in torch.split(rows, rows_at_once):
        part = part.to(device)
        with torch.autocast(device, dtype=torch.bfloat16):
            offsets = torch.zeros(len(part), dtype=torch.int64, device=device)
            total += loss_of(model, part, offsets, None, 0.0).item() * len(part)
    return total / len(rows)
