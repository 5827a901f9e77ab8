"""The first token does not wait for a drafter that has nothing to draft yet: with `delayed`, a fallback, or gamma 0."""

from __future__ import annotations

from unittest import mock

import pytest

from minispec.analysis.simulate import CostedModel, CostModel, SimulatedClock
from minispec.batching import Engine
from minispec.drafters import ModelDrafter
from minispec.generation import Emitted, Stream, stream
from minispec.generation.run import Run
from minispec.model.asks import ask_for
from minispec.model.session import PREFILL_CHUNK
from minispec.model.toy import TableModel
from tests.models import random_gpt2

PROMPT = [int(i % 7 == 0) for i in range(150)]
COST = CostModel(draft=0.3)
PLAIN = {"temperature": 1.0, "top_p": 1.0, "max_tokens": 12}
LATE = {"delayed": {"gamma": "delayed:gamma=3"}, "fallback": {"gamma": 3, "fallback": "request"}, "0": {"gamma": 0}}


def start(clock: SimulatedClock, prompt: list[int] = PROMPT, *, draft: bool = True, **options: object) -> Stream:
    target = CostedModel(TableModel(5, 512, seed=1), clock, COST.target_cost)
    small = CostedModel(TableModel(5, 512, seed=2), clock, COST.draft_cost)
    return stream(prompt, target=target, draft=small if draft else None, clock=clock, **PLAIN | options)


def draft_forwards(run: Stream) -> int:
    assert isinstance(run.drafter, ModelDrafter)
    return run.drafter.session.num_forwards


@pytest.mark.parametrize("late", LATE)
@pytest.mark.parametrize("length", [1, 2, 20, 65, 150])
def test_the_first_token_comes_as_soon_as_without_speculation(late: str, length: int) -> None:
    """To the digit, on a simulated clock; and a run that drafts at once shows what would be lost."""
    plain, speculative, at_once = (
        start(SimulatedClock(), PROMPT[:length], **options).run().metrics.ttft_s
        for options in ({"draft": False}, LATE[late], {"gamma": 3})
    )
    assert plain == speculative
    assert at_once > plain + 3 * COST.draft


@pytest.mark.parametrize("late", LATE)
def test_the_drafter_reads_the_prompt_when_it_is_to_draft(late: str) -> None:
    clock = SimulatedClock()
    run = start(clock, **LATE[late])
    for event in run:
        if isinstance(event, Emitted):
            break
    assert draft_forwards(run) == 0
    generation = run.run()
    # Reading it late is prefill, and no step's time: a fallback would take it for the price of a draft.
    assert generation.metrics.prefill_s + generation.metrics.decode_s == pytest.approx(clock.now)
    assert generation.metrics.draft_s == pytest.approx(COST.draft * generation.metrics.num_draft_tokens, abs=0.1)
    first = next((step.index for step in generation.steps if step.draft_tokens), None)
    assert first == {"delayed": 1, "fallback": 2, "0": None}[late]
    # the text so far but its last token, chunk by chunk
    chunks = -(-(len(PROMPT) - 1 + (first or 0)) // PREFILL_CHUNK)
    drafted = sum(len(step.draft_tokens) for step in generation.steps)
    assert draft_forwards(run) == (chunks + drafted if first else 0)


@pytest.mark.parametrize(("gamma", "num_tokens"), [("delayed", 1), ("delayed", 2), (3, 1)])
def test_a_text_that_ends_before_anything_is_drafted_feeds_no_drafter(gamma: str | int, num_tokens: int) -> None:
    """Nor one whose last token comes next: there is no room for a draft beside it."""
    run = start(SimulatedClock(), gamma=gamma, max_tokens=num_tokens)
    assert len(run.run().token_ids) == num_tokens
    assert draft_forwards(run) == 0


@pytest.mark.parametrize("verify", ["rejection", "block", "gumbel"])
def test_when_it_reads_changes_no_bit(verify: str) -> None:
    """Against a run whose drafter reads the prompt before the first step, of a GPT-2 whose every slot matters."""
    target = random_gpt2("numba", n_positions=256, vocab_size=11)
    small = random_gpt2("numba", seed=1, n_positions=256, vocab_size=11)

    def decode() -> tuple[tuple[int, ...], tuple[str, ...]]:
        prompt = [token + 3 for token in PROMPT]
        run = stream(prompt, target=target, draft=small, gamma="delayed:gamma=3", verify=verify, **PLAIN).run()
        return run.token_ids, run.sources

    def feed_at_once(self: Run):
        if not self._is_drafter_fed:
            yield from ask_for(self.drafter.prefill(self.tokens[:-1]))
            self._is_drafter_fed = True

    late = decode()
    assert late[1][0] == "plain"
    assert "accepted" in late[1]
    with mock.patch.object(Run, "_feed_drafter", feed_at_once):
        assert decode() == late


def test_leaving_at_any_event_changes_nothing() -> None:
    whole = start(SimulatedClock(), gamma="delayed:gamma=3").run()
    for left_at in range(2 * len(whole.steps)):
        run = start(SimulatedClock(), gamma="delayed:gamma=3")
        for number, _ in enumerate(run):
            if number == left_at:
                run.close()
        assert (run.generation.token_ids, run.generation.sources) == (whole.token_ids, whole.sources)


def test_in_a_batch_the_text_is_the_same_and_the_late_prompt_is_fed_in_chunks() -> None:
    target, small = TableModel(5, 512, seed=1), TableModel(5, 512, seed=2)
    engine, longest = Engine(target, max_running=3), 0
    numbers = [engine.add(PROMPT, draft=small, seed=seed, **PLAIN | {"gamma": "delayed:gamma=3"}) for seed in range(3)]
    forward = TableModel.forward

    def watch(self: TableModel, tokens, *args, **options):
        nonlocal longest
        longest = max(longest, len(tokens))
        return forward(self, tokens, *args, **options)

    with mock.patch.object(TableModel, "forward", watch):
        engine.run()
        together = [engine.generation(number) for number in numbers]
        alone = [
            stream(PROMPT, target=target, draft=small, seed=seed, **PLAIN | {"gamma": "delayed:gamma=3"}).run()
            for seed in range(3)
        ]
    assert [(one.token_ids, one.sources) for one in together] == [(one.token_ids, one.sources) for one in alone]
    assert 0 < longest <= PREFILL_CHUNK
