"""What the stream keeps of a run: steps delivered and steps learned from, whoever interrupts whom and when."""

from __future__ import annotations

import numpy as np
import pytest

from minispec.engine.control import FixedGamma, ReplayedGamma
from minispec.engine.drafters import ModelDrafter
from minispec.engine.generation import Emitted, Stream
from minispec.engine.generation.audit import AuditedSession
from minispec.engine.generation.stopping import Limits
from minispec.engine.model.session import Session
from minispec.engine.model.toy import TableModel
from minispec.engine.model.tree_session import TreeSession
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.records import Step
from minispec.engine.sampling import Sampler, SamplingParams
from minispec.errors import InvariantError

TARGET, DRAFT = TableModel(5, seed=1), TableModel(5, seed=2)
SAMPLER = Sampler(SamplingParams(temperature=1.0, top_p=1.0), 2)


class Learning(FixedGamma):
    """Notes every step it is told of, and may be interrupted while it learns."""

    interrupted_at: int | None = None  # of the class: attributes of a policy are set back

    def __init__(self) -> None:
        super().__init__(3)
        self.steps: list[int] = []

    def observe(self, step: Step) -> None:
        self.steps.append(step.index)
        if step.index == self.interrupted_at:
            type(self).interrupted_at = None
            raise KeyboardInterrupt


def new_stream(policy: FixedGamma) -> Stream:
    drafter = ModelDrafter(Session(DRAFT), SAMPLER)
    return Stream([1, 2], TreeSession(TARGET), drafter, SAMPLER, PhiloxNoise(5), Limits(20, 64), policy=policy)


def test_each_step_is_learned_from_once() -> None:
    policy = Learning()
    whole = new_stream(policy).run()
    assert policy.steps == list(range(1, len(whole.steps))), "all but the first token, which is none of its"


@pytest.mark.parametrize("step", [1, 2, 4])
def test_an_interruption_between_learning_and_telling_repeats_neither(step: int) -> None:
    policy, plain = Learning(), new_stream(FixedGamma(3)).run()
    Learning.interrupted_at = step
    stream, emitted = new_stream(policy), []
    with pytest.raises(KeyboardInterrupt):
        emitted.extend(event for event in stream if isinstance(event, Emitted))
    emitted.extend(event for event in stream if isinstance(event, Emitted))
    assert [event.step for event in emitted] == list(range(len(plain.steps)))
    assert tuple(token for event in emitted for token in event.token_ids) == plain.token_ids
    assert policy.steps == list(range(1, len(plain.steps))), "the interrupted lesson is made again, not doubled"


class Rounding(TableModel):
    """Claims to be batch-invariant, and gives another last bit when it computes a row among others."""

    def forward(self, tokens, cache, num_logits=None, **tree):  # type: ignore[no-untyped-def]
        logits = super().forward(tokens, cache, num_logits, **tree)
        return np.nextafter(logits, np.float32(0.0)) if len(tokens) > 1 and cache.length < 6 else logits


def test_the_audit_takes_batch_invariance_at_its_word() -> None:
    session = AuditedSession(Rounding(5, seed=1))
    session.score([1])
    with pytest.raises(InvariantError, match="differ from an uncached forward"):
        session.score([2])


class Taking:
    """A model whose forwards take a second each."""

    def __init__(self, model: TableModel, now: list[float]) -> None:
        self._model, self._now = model, now

    def __getattr__(self, name: str) -> object:
        return getattr(self._model, name)

    def forward(self, *args, **options):  # type: ignore[no-untyped-def]
        self._now[0] += 1.0
        return self._model.forward(*args, **options)


def test_the_consumers_own_time_counts_in_no_figure() -> None:
    """It takes a hundred seconds over every event; each step is a second of the target and one per drafted token."""
    now = [0.0]
    drafter = ModelDrafter(Session(Taking(DRAFT, now)), SAMPLER)
    target = TreeSession(Taking(TARGET, now))
    stream = Stream(
        [1, 2], target, drafter, SAMPLER, PhiloxNoise(5), Limits(20, 64), policy=FixedGamma(3), clock=lambda: now[0]
    )
    for _ in stream:
        now[0] += 100.0
    first, *steps = stream.generation.steps
    assert (first.target_s, first.draft_s, first.step_s) == (0.0, 0.0, 0.0), "its forward is the prefill's"
    assert stream.generation.metrics.ttft_s == 1.0
    for step in steps:
        assert (step.target_s, step.draft_s, step.step_s - step.draft_s) == (1.0, len(step.draft_tokens), 1.0)


def test_what_a_drafter_reads_late_adds_up_over_interruptions() -> None:
    """It reads the prompt behind the first token; left while nothing is to be drafted, it reads all again later."""
    now = [0.0]
    drafter = ModelDrafter(Session(Taking(DRAFT, now)), SAMPLER)
    target = TreeSession(TARGET)
    policy = ReplayedGamma([1, 0, 1, 1])
    stream = Stream(
        [1, 2], target, drafter, SAMPLER, PhiloxNoise(5), Limits(20, 64), policy=policy, clock=lambda: now[0]
    )
    for event in stream:
        if isinstance(event, Emitted) and event.step == 1:
            break
    assert stream.generation.metrics.prefill_s == 1.0
    stream.close()
    stream.run()
    assert stream.generation.metrics.prefill_s == 2.0
