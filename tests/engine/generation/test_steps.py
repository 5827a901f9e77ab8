"""One step at a time, with scripted noise: rejections at every place, what is fed and counted, where all is cut."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from minispec.engine.generation.stopping import Limits
from minispec.engine.laws import speculative_stream
from minispec.engine.model.session import Session
from minispec.engine.model.toy import TableModel
from minispec.engine.model.tree_session import TreeSession
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.verifiers import rejection
from minispec.lab.simulate import CostedModel, SimulatedClock

from .tiny import GREEDY, PLAIN, byte_tokenizer, random_gpt2

PROMPT = (1, 2, 3)


class ScriptedAcceptance:
    """Accepts the first ``plan[i]`` drafts of the i-th step that drafts and rejects the next; else pseudo-random."""

    def __init__(self, plan, seed=0):
        self.plan = plan
        self._other = PhiloxNoise(seed)
        self._start = {}

    def bernoulli(self, prob, at):
        first = self._start.setdefault(at.step, at.position)
        return at.position - first < self.plan[at.step - 1]

    def categorical(self, probs, at):
        return self._other.categorical(probs, at)


class WatchedSession(TreeSession):
    """Compares the logits of every forward with those of an empty cache, and notes what was fed."""

    def __init__(self, model):
        super().__init__(model)
        self.fed = []

    def score(self, tokens, num_logits=None):
        logits = super().score(tokens, num_logits)
        self.fed.append(len(tokens))
        count = len(tokens) if num_logits is None else num_logits
        if count:
            np.testing.assert_array_equal(logits, Session(self.model).score(self.tokens)[-count:])
        return logits


def planned_stream(plan, gamma, target, draft, num_tokens):
    limits = Limits(num_tokens, target.n_positions)
    return speculative_stream(
        ScriptedAcceptance(plan),
        target,
        draft,
        PLAIN,
        PROMPT,
        limits,
        gamma=gamma,
        new_session=WatchedSession,
        new_draft_session=WatchedSession,
    )


@pytest.mark.parametrize("gamma", [1, 2, 3])
def test_rejection_at_every_place_three_times_over(gamma):
    """All plans of three steps, 0..gamma accepted in each, on a GPT-2 whose logits depend on every slot. Cached logits
    equal uncached ones bit for bit (the backend is batch-invariant), each step is one target forward over exactly the
    pending token and the draft, the draft feeds what it lacks, and both caches end at committed - 1."""
    target, draft = random_gpt2("numba", seed=1), random_gpt2("numba", seed=2, n_layer=1)
    for plan in itertools.product(range(gamma + 1), repeat=3):
        num_tokens = 1 + sum(plan) + 3
        stream = planned_stream((*plan, 0), gamma, target, draft, num_tokens + gamma + 1)
        while len(stream.generation.steps) < 4:
            next(stream)
        stream.close()
        generation = stream.generation
        first, *steps = generation.steps
        assert (first.draft_tokens, first.sources) == ((), ("plain",))
        assert [step.num_accepted for step in steps] == list(plan)
        assert [step.sources[-1] for step in steps] == [
            "bonus" if accepted == gamma else "recovered" for accepted in plan
        ]
        assert len(generation.token_ids) == num_tokens
        assert stream.target.fed == [len(PROMPT), *[gamma + 1] * 3], "one forward per step, nothing fed twice"
        lacking = [1] + [2 if accepted == gamma else 1 for accepted in plan[:-1]]
        wanted = [len(PROMPT)] + [fed for first in lacking for fed in [first, *[1] * (gamma - 1)]]
        assert stream.drafter.session.fed == wanted
        assert stream.target.length == len(stream.tokens) - 1
        assert stream.target.tokens == list(stream.tokens[:-1])
        assert stream.drafter.session.tokens == list(stream.tokens[: stream.drafter.session.length])


def test_metrics_of_times_with_a_clock_that_is_known():
    """The consumer's time counts nowhere; the draft model reads the prompt behind the first token."""
    clock = SimulatedClock()
    target = CostedModel(TableModel(4, seed=1), clock, lambda rows: 10.0)
    draft = CostedModel(TableModel(4, seed=2), clock, lambda rows: 1.0)

    def verify(draft, target_probs, coins):
        clock.charge(3.0)
        return rejection.verify(draft, target_probs, coins)

    stream = speculative_stream(
        PhiloxNoise(0), target, draft, PLAIN, PROMPT, Limits(7, 64), gamma=2, verify=verify, clock=clock
    )
    for _ in stream:
        clock.charge(1000.0)
    metrics = stream.generation.metrics
    steps, drafted = metrics.num_steps, metrics.num_draft_tokens
    assert steps < drafted < 2 * steps
    assert metrics.ttft_s == 10.0 + 3.0
    assert metrics.prefill_s == metrics.ttft_s + 1.0
    assert metrics.draft_s == drafted
    assert metrics.target_s == 10.0 * steps
    assert metrics.decode_s == drafted + 10.0 * steps + 3.0 * steps
    assert metrics.tpot_s == (1.0 + metrics.decode_s) / 6
    assert clock.now == metrics.prefill_s + metrics.decode_s + 1000.0 * (3 * steps + 3)


@pytest.mark.parametrize("speculative", [True, False])
def test_a_step_that_was_interrupted_is_timed_afresh(speculative):
    """What was spent before the interruption, and on it, is in no step's time."""
    clock, slow = SimulatedClock(), iter([True, False] * 99)

    def cost(rows):
        clock.charge(10.0)
        if next(slow) and clock.now > 30.0:
            raise KeyboardInterrupt
        return 0.0

    target = CostedModel(TableModel(4, seed=1), clock, cost)
    draft = CostedModel(TableModel(4, seed=2), clock, lambda rows: 1.0) if speculative else None
    stream = speculative_stream(PhiloxNoise(0), target, draft, PLAIN, PROMPT, Limits(9, 64), gamma=2, clock=clock)
    interrupted = 0
    while stream.generation.finish_reason == "interrupted":
        try:
            stream.run()
        except KeyboardInterrupt:
            interrupted += 1
            clock.charge(1000.0)
    assert interrupted > 1
    first, *steps = stream.generation.steps
    assert (first.target_s, first.step_s) == (0.0, 0.0), "its forward is the prefill's"
    for step in steps:
        assert step.target_s == 10.0
        assert step.step_s == step.draft_s + 10.0
        # a draft that is made again finds its tokens but the last in the cache; the first of a step feeds two at most
        assert step.draft_s == len(step.draft_tokens)


class ChainModel(TableModel):
    """Certain of the next token of one text; wrong at the places in ``errs`` (never naming EOS there)."""

    def __init__(self, text, vocab_size, n_positions, errs=()):
        eos = vocab_size - 1
        super().__init__(vocab_size, n_positions, eos_token_id=frozenset({eos}))
        self._text, self._errs = text, set(errs)

    def next_probs(self, prefix):
        place = len(prefix) - len(PROMPT)
        token = self._text[place] if place < len(self._text) else 0
        if place in self._errs:
            token = (token + 1) % (self.vocab_size - 1)
        return np.eye(self.vocab_size)[token]


@pytest.mark.parametrize("gamma", [1, 2, 4])
def test_a_stop_in_an_accepted_block_cuts_everything_at_one_point(gamma):
    """The stop completes at every place of a block in turn: ids, sources, counters and both caches agree."""
    vocabulary = [b"a", b"b", b"c", b"d", b"."]
    text = [0, 1, 2, 3, 0, 2, 1, 3, 3, 1]
    target, draft = ChainModel(text, 6, 64), ChainModel(text, 6, 64, (5,))
    tokenizer = byte_tokenizer([*vocabulary, b"!"])
    written = tokenizer.decode(text)
    for begin, size in itertools.product(range(9), (1, 2)):
        stop = written[begin : begin + size]
        place = written.index(stop)
        limits = Limits(10, 64, (stop,), frozenset({5}))
        stream = speculative_stream(
            PhiloxNoise(0), target, draft, GREEDY, PROMPT, limits, gamma=gamma, tokenizer=tokenizer
        )
        generation = stream.run()
        assert (generation.text, generation.finish_reason, generation.stop) == (written[:place], "stop", stop)
        kept = place + (0 if size == 1 else size)
        assert generation.token_ids == tuple(text[:kept]), "a stop that begins with its last token drops that token"
        assert len(generation.sources) == kept == generation.metrics.num_tokens
        assert generation.metrics.num_accepted_tokens == generation.sources.count("accepted")
        assert stream.target.tokens == list(stream.tokens[:-1])
        assert stream.drafter.session.length < len(stream.tokens)
        assert "".join(piece.text for piece in generation.pieces) == generation.text
