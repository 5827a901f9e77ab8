"""The first token is drawn from the last row of the prompt, which is fed once; it waits for no drafter."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray

from minispec.engine.batching import Engine
from minispec.engine.drafters import ModelDrafter
from minispec.engine.generation import Emitted, Prefilled, Stream, stream
from minispec.engine.laws import Enumerator, total_variation
from minispec.engine.model.asks import ask_for
from minispec.engine.model.session import PREFILL_CHUNK
from minispec.engine.model.toy import TableModel
from minispec.engine.noise import Coins, Noise
from minispec.engine.records import Draft, Verdict
from minispec.engine.verifiers import get_verifier
from minispec.lab.simulate import CostedModel, CostModel, SimulatedClock
from tests.models import random_gpt2

PROMPT = [int(i % 7 == 0) for i in range(150)]
COST = CostModel(draft=0.3)
PLAIN = {"temperature": 1.0, "top_p": 1.0, "max_tokens": 12}
WAYS = {"3": {"gamma": 3}, "fallback": {"gamma": 3, "fallback": "request"}, "0": {"gamma": 0}}


def start(clock: SimulatedClock, prompt: list[int] = PROMPT, *, draft: bool = True, **options: object) -> Stream:
    target = CostedModel(TableModel(5, 512, seed=1), clock, COST.target_cost)
    small = CostedModel(TableModel(5, 512, seed=2), clock, COST.draft_cost)
    return stream(prompt, target=target, draft=small if draft else None, clock=clock, **PLAIN | options)


def draft_forwards(run: Stream) -> int:
    assert isinstance(run.drafter, ModelDrafter)
    return run.drafter.session.num_forwards


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("length", [1, 2, 20, 64, 65, 66, 129, 150])
def test_the_first_token_comes_as_soon_as_without_speculation(way: str, length: int) -> None:
    """To the digit, on a simulated clock: it takes the prompt's forwards, the rows of which are its tokens."""
    plain, speculative = (
        start(SimulatedClock(), PROMPT[:length], **options).run() for options in ({"draft": False}, WAYS[way])
    )
    assert plain.metrics.ttft_s == speculative.metrics.ttft_s
    *chunks, last = [min(PREFILL_CHUNK, length - 1 - i) for i in range(0, length - 1, PREFILL_CHUNK)] or [0]
    assert plain.metrics.ttft_s == pytest.approx(sum(map(COST.target_cost, [*chunks, last + 1])))


@pytest.mark.parametrize("length", [1, 2, 64, 65, 66, 129, 150])
def test_the_prompt_is_fed_once_and_its_last_row_is_the_first_tokens(length: int) -> None:
    run, fed = start(SimulatedClock(), PROMPT[:length], draft=False), []
    forward = TableModel.forward

    def watch(self: TableModel, tokens, cache, num_logits=None, **tree):
        fed.append((len(tokens), num_logits))
        return forward(self, tokens, cache, num_logits, **tree)

    with mock.patch.object(TableModel, "forward", watch):
        events = [next(run), next(run)]
    assert [type(event) for event in events] == [Prefilled, Emitted]
    assert sum(tokens for tokens, _ in fed) == length
    assert [logits for _, logits in fed] == [0] * (len(fed) - 1) + [1]
    assert max(tokens for tokens, _ in fed) <= PREFILL_CHUNK + 1


def test_the_first_token_has_the_targets_law() -> None:
    """Of a target that leaves it open, with a drafter that would bias it if it were asked."""
    target, prompt = TableModel(4, seed=3, eos_token_id=frozenset({3})), (0, 1)
    draft = TableModel(4, seed=4)

    def first(noise: Noise) -> tuple[int, str]:
        made = stream(prompt, target=target, draft=draft, gamma=2, noise=noise, **PLAIN | {"max_tokens": 2}).run()
        return made.token_ids[0], made.sources[0]

    law = Enumerator(first).law()
    wanted = {(token, "plain"): float(p) for token, p in enumerate(target.next_probs(prompt))}
    assert total_variation(law, wanted) < 1e-7, "logits are float32"


@pytest.mark.parametrize("way", WAYS)
def test_the_drafter_reads_the_prompt_when_it_is_to_draft(way: str) -> None:
    clock = SimulatedClock()
    run = start(clock, **WAYS[way])
    for event in run:
        if isinstance(event, Emitted):
            break
    assert draft_forwards(run) == 0
    generation = run.run()
    # Reading it late is prefill, and no step's time: a fallback would take it for the price of a draft.
    assert generation.metrics.prefill_s + generation.metrics.decode_s == pytest.approx(clock.now)
    assert generation.metrics.draft_s == pytest.approx(COST.draft * generation.metrics.num_draft_tokens, abs=0.1)
    first = next((step.index for step in generation.steps if step.draft_tokens), None)
    assert first == {"3": 1, "fallback": 3, "0": None}[way]
    # the text so far but its last token, chunk by chunk
    chunks = -(-(len(PROMPT) - 1 + (first or 0)) // PREFILL_CHUNK)
    drafted = sum(len(step.draft_tokens) for step in generation.steps)
    assert draft_forwards(run) == (chunks + drafted if first else 0)


@pytest.mark.parametrize("num_tokens", [1, 2])
def test_a_text_that_ends_before_anything_is_drafted_feeds_no_drafter(num_tokens: int) -> None:
    """Nor one whose last token comes next: there is no room for a draft beside it."""
    run = start(SimulatedClock(), gamma=3, max_tokens=num_tokens)
    assert len(run.run().token_ids) == num_tokens
    assert draft_forwards(run) == 0


@pytest.mark.parametrize("verify", ["rejection", "block", "gumbel"])
def test_when_it_reads_changes_no_bit(verify: str) -> None:
    """Against a run whose drafter reads the prompt before the first token, of a GPT-2 whose every slot matters."""
    target = random_gpt2("numba", n_positions=256, vocab_size=11)
    small = random_gpt2("numba", seed=1, n_positions=256, vocab_size=11)

    def decode() -> tuple[tuple[int, ...], tuple[str, ...]]:
        prompt = [token + 3 for token in PROMPT]
        run = stream(prompt, target=target, draft=small, gamma=3, verify=verify, **PLAIN).run()
        return run.token_ids, run.sources

    def feed_at_once(self: Stream):
        if not self._is_drafter_fed:
            yield from ask_for(self.drafter.prefill(self.tokens[:-1]))
            self._is_drafter_fed = True
            early.append(not self.has_begun)

    late, early = decode(), []
    assert late[1][0] == "plain"
    assert "accepted" in late[1]
    with mock.patch.object(Stream, "_feed_drafter", feed_at_once):
        assert decode() == late
    assert early == [True]


def test_leaving_at_any_event_changes_nothing() -> None:
    whole = start(SimulatedClock(), gamma=3).run()
    for left_at in range(2 * len(whole.steps)):
        run = start(SimulatedClock(), gamma=3)
        for number, _ in enumerate(run):
            if number == left_at:
                run.close()
        assert (run.generation.token_ids, run.generation.sources) == (whole.token_ids, whole.sources)


def test_in_a_batch_the_text_is_the_same_and_the_late_prompt_is_fed_in_chunks() -> None:
    target, small = TableModel(5, 512, seed=1), TableModel(5, 512, seed=2)
    engine, longest = Engine(target, max_running=3), 0
    numbers = [engine.add(PROMPT, draft=small, seed=seed, **PLAIN | {"gamma": 3}) for seed in range(3)]
    forward = TableModel.forward

    def watch(self: TableModel, tokens, *args, **options):
        nonlocal longest
        longest = max(longest, len(tokens))
        return forward(self, tokens, *args, **options)

    with mock.patch.object(TableModel, "forward", watch):
        engine.run()
        together = [engine.generation(number) for number in numbers]
        alone = [
            stream(PROMPT, target=target, draft=small, seed=seed, **PLAIN | {"gamma": 3}).run() for seed in range(3)
        ]
    assert [(one.token_ids, one.sources) for one in together] == [(one.token_ids, one.sources) for one in alone]
    assert 0 < longest <= PREFILL_CHUNK


@pytest.mark.parametrize("verify", ["rejection", "match", "block"])
def test_a_rule_is_handed_no_draft_of_the_vocabularys_width_for_it(verify: str) -> None:
    """So that a rule that subtracts q from p as a whole needs no case of its own."""
    shapes, rule = [], get_verifier(verify)

    def look(draft: Draft, target_probs: NDArray[np.float64], coins: Coins) -> Verdict:
        shapes.append((len(draft), draft.probs.shape, target_probs.shape))
        return rule.verify(draft, target_probs, coins)

    start(SimulatedClock(), gamma=2, verify=replace(rule, verify=look)).run()
    assert shapes[0] == (0, (0, 5), (1, 5))
    assert all(q == (drafted, 5) and p == (drafted + 1, 5) for drafted, q, p in shapes)
