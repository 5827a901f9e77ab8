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


def test_metrics_of_the_worked_example():
    """gamma 4; 4, 2 and 0 accepted: 4 + 3 + 1 evaluated, 5 + 3 + 1 emitted behind the first token."""
    target, draft = TableModel(11, seed=1), TableModel(11, seed=2)
    stream = planned_stream((4, 2, 0, 0), 4, target, draft, 30)
    while len(stream.generation.steps) < 4:
        next(stream)
    metrics = stream.generation.metrics
    assert metrics.num_accepted_tokens == 6
    assert metrics.num_evaluated_tokens == 8
    assert metrics.num_draft_tokens == 12
    assert metrics.num_drafts == metrics.num_steps == 3
    assert metrics.num_tokens == 10
    assert metrics.num_decode_tokens == 9
    assert metrics.num_prompt_tokens == 3
    assert metrics.num_accepted_tokens_per_pos == (2, 2, 1, 1)
    assert metrics.mean_acceptance_length == 3.0
    assert metrics.draft_acceptance_rate == 0.5
    assert metrics.alpha == 0.75


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


def test_metrics_of_nothing():
    target = TableModel(4, seed=1)
    metrics = speculative_stream(PhiloxNoise(0), target, target, PLAIN, PROMPT, Limits(0, 64), gamma=2).run().metrics
    assert metrics.num_steps == metrics.num_tokens == 0
    assert metrics.mean_acceptance_length is metrics.alpha is metrics.ttft_s is metrics.draft_acceptance_rate is None


def test_a_drafter_that_is_the_target_yields_gamma_plus_one_tokens_per_forward():
    target = TableModel(5, seed=3)
    generation = speculative_stream(PhiloxNoise(0), target, target, PLAIN, PROMPT, Limits(13, 64), gamma=3).run()
    assert [len(step.tokens) for step in generation.steps] == [1, 4, 4, 4]
    assert generation.sources == ("plain", *("accepted", "accepted", "accepted", "bonus") * 3)
    assert generation.metrics.mean_acceptance_length == 4.0


@pytest.mark.parametrize("backend", ["numba"])
@pytest.mark.parametrize("gamma", range(6))
def test_greedy_tokens_are_plain_greedy_tokens(backend, gamma):
    """On a batch-invariant backend: bit-exact, and said so."""
    target, draft = random_gpt2(backend, seed=4), random_gpt2(backend, seed=5)
    for start in range(11):
        prompt, limits = (start, 1), Limits(99, target.n_positions)
        plain = speculative_stream(PhiloxNoise(0), target, None, GREEDY, prompt, limits, gamma=0).run()
        fast = speculative_stream(PhiloxNoise(1), target, draft, GREEDY, prompt, limits, gamma=gamma).run()
        assert fast.token_ids == plain.token_ids
        assert fast.guarantee == plain.guarantee == "bit-exact"


def test_gamma_zero_gives_plain_decodings_tokens_seed_for_seed():
    target, draft = TableModel(6, seed=6), TableModel(6, seed=7)
    for seed in range(5):
        plain, fast = (
            speculative_stream(PhiloxNoise(seed), target, d, PLAIN, PROMPT, Limits(20, 64), gamma=0).run()
            for d in (None, draft)
        )
        assert plain.token_ids == fast.token_ids
        assert set(fast.sources) == {"plain"}


# --- EOS x budget x context ---------------------------------------------------------------------------------------


def _chain(num_tokens, vocab_size, eos_at):
    """A deterministic text: token (7 i + 1) mod (V - 1) at place i, EOS (the last id) at place ``eos_at``."""
    text = [(7 * i + 1) % (vocab_size - 1) for i in range(num_tokens)]
    if eos_at is not None and eos_at < num_tokens:
        text[eos_at] = vocab_size - 1
    return text


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


EOS_PLACES = [None, *range(11)]
BUDGETS = range(12)
ROOMS = range(1, 12)


@pytest.mark.parametrize("gamma", [1, 3, 4])
@pytest.mark.parametrize("errs", ["never", "always", "every third"])
def test_eos_by_budget_by_context(gamma, errs):
    """12 x 12 x 11 cases against plain decoding and arithmetic: length, reason, ids, sources, counters and caches are
    cut at one point. EOS lands as accepted draft, as recovered, as bonus or as plain token depending on ``errs``."""
    vocab_size = 6
    wrong = {"never": (), "always": range(99), "every third": range(2, 99, 3)}[errs]
    landed = set()
    for eos_at, budget, room in itertools.product(EOS_PLACES, BUDGETS, ROOMS):
        context = len(PROMPT) + room
        text = _chain(20, vocab_size, eos_at)
        target, draft = ChainModel(text, vocab_size, context), ChainModel(text, vocab_size, context, wrong)
        limits = Limits(budget, context, eos_token_id=target.eos_token_id)
        plain = speculative_stream(PhiloxNoise(0), target, None, GREEDY, PROMPT, limits, gamma=0).run()
        stream = speculative_stream(PhiloxNoise(0), target, draft, GREEDY, PROMPT, limits, gamma=gamma)
        fast = stream.run()

        ends = {"eos": 99 if eos_at is None else eos_at + 1, "length": budget, "context": room}
        length = min(ends.values())
        reason = next(name for name in ("eos", "length", "context") if ends[name] == length)
        if budget == 0:
            reason = "length"
        for generation in (plain, fast):
            assert generation.token_ids == tuple(text[:length])
            assert generation.finish_reason == reason
        assert len(fast.sources) == length
        assert fast.metrics.num_tokens == sum(len(step.tokens) for step in fast.steps) == length
        assert fast.metrics.num_accepted_tokens == fast.sources.count("accepted")
        assert fast.metrics.num_steps == max(0, len(fast.steps) - 1)
        assert stream.target.num_forwards == len(fast.steps), "the last row of the prompt is the first token's"
        assert stream.target.tokens == (list(stream.tokens[:-1]) if budget else []), "nothing to emit, nothing to feed"
        assert stream.drafter.session.tokens == list(stream.tokens[: stream.drafter.session.length])
        assert stream.drafter.session.length < len(stream.tokens)
        if reason == "eos":
            landed.add(fast.sources[-1])
    assert (
        landed
        >= {
            "never": {"accepted", "bonus", "plain"},
            "always": {"recovered", "plain"},
            "every third": {"accepted", "recovered", "plain"},
        }[errs]
    )


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
