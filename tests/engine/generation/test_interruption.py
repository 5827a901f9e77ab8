"""Left at any moment and taken up again, a run comes to the same end as without the interruption."""

from __future__ import annotations

import gc
import itertools
import sys
import weakref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minispec.engine.control import AutoGamma, Fallback, FixedGamma, HeuristicGamma
from minispec.engine.drafters import (
    CascadeDrafter,
    FixedTreeDrafter,
    LayerSkipDrafter,
    ModelDrafter,
    ModelSource,
    NgramDrafter,
    SuffixDrafter,
)
from minispec.engine.drafters.trees.shapes import fixed_tree
from minispec.engine.generation import Emitted, Finished, Prefilled, Stream, Verified
from minispec.engine.generation.audit import AuditedSession
from minispec.engine.generation.run import Deliveries
from minispec.engine.generation.stopping import Limits
from minispec.engine.laws import speculative_stream
from minispec.engine.model.session import Session
from minispec.engine.model.toy import TableModel
from minispec.engine.model.tree_session import TreeSession
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.sampling import Sampler
from minispec.engine.verifiers import get_verifier
from minispec.lab.simulate import CostedModel, SimulatedClock
from tests.interrupting import run_with_interrupt_at

from .tiny import PLAIN, byte_tokenizer, random_gpt2

PROMPT = (0, 1, 2)
TOKENIZER = byte_tokenizer([b"a", b"b", b"ab", b"\xc3", b"\xa9"])
LIMITS = Limits(12, 64, ("bbb", "aab"))


def new_stream(seed=0, speculative=True, **parts):
    target, draft = TableModel(5, seed=1), TableModel(5, seed=2)
    return speculative_stream(
        PhiloxNoise(seed),
        target,
        draft if speculative else None,
        PLAIN,
        PROMPT,
        LIMITS,
        gamma=3,
        tokenizer=TOKENIZER,
        **parts,
    )


def essence(generation):
    """All but the clock's figures."""
    return (
        generation.text,
        generation.token_ids,
        generation.sources,
        generation.finish_reason,
        generation.stop,
        generation.pieces,
        [step.verdict for step in generation.steps],
        generation.metrics.num_draft_tokens,
    )


def check_caches(stream):
    """What the caches hold is a beginning of what is committed, and their contents are those tokens."""
    for session in (stream.target, *([stream.drafter.session] if stream.speculates else [])):
        assert session.tokens == list(stream.tokens[: session.length])
        assert session.length < len(stream.tokens)
        assert session.cache.length == session.length
        assert session.cache.keys[0, 0, : session.length, 0, 0].astype(int).tolist() == session.tokens


def tellings(event):
    """What an event says of a committed step, without the clock's figures."""
    if isinstance(event, Emitted):
        return "emitted", event.step, event.token_ids
    return ("verified", event.step, event.next_token) if isinstance(event, Verified) else None


class Fuse:
    """Burns down with each forward; at zero it raises Ctrl-C before, amid or after the model's work."""

    def __init__(self, count, when):
        self.count, self.when = count, when

    def session(self, model):
        fuse = self

        class Interrupted(TreeSession):
            def score(self, tokens, num_logits=None):
                fuse.count -= 1
                if fuse.count == 0 and fuse.when == "before":
                    raise KeyboardInterrupt
                if fuse.count == 0 and fuse.when == "amid":
                    self.model.forward(tokens[:1], self.cache, 0)
                    raise KeyboardInterrupt
                logits = super().score(tokens, num_logits)
                if fuse.count == 0:
                    raise KeyboardInterrupt
                return logits

        return Interrupted(model)


@settings(max_examples=150)
@given(
    seed=st.integers(0, 20),
    speculative=st.booleans(),
    plan=st.lists(st.sampled_from(["next", "next", "close", "leave", "before", "amid", "after"]), max_size=25),
    data=st.data(),
)
def test_any_interleaving_comes_to_the_same_end(seed, speculative, plan, data):
    """next, close, break-and-iterate-again, and Ctrl-C inside a forward; every Emitted is delivered exactly once."""
    wanted = new_stream(seed, speculative).run()
    fuse = Fuse(0, "before")
    stream = new_stream(seed, speculative, new_session=fuse.session, new_draft_session=fuse.session)
    emitted = []

    def note(event):
        if isinstance(event, Emitted):
            emitted.extend(event.token_ids)

    for action in plan:
        if action == "close":
            stream.close()
            check_caches(stream)
        else:
            if action in ("before", "amid", "after"):
                fuse.count, fuse.when = data.draw(st.integers(1, 5)), action
            try:
                if action == "leave":
                    for event in stream:
                        note(event)
                        break
                else:
                    note(next(stream))
            except StopIteration:
                break
            except KeyboardInterrupt:
                generation = stream.generation
                assert len(generation.token_ids) == len(generation.sources)
                assert wanted.token_ids[: len(generation.token_ids)] == generation.token_ids
                check_caches(stream)
    fuse.count = 0
    for event in stream:
        note(event)
    assert essence(stream.generation) == essence(wanted)
    assert tuple(emitted) == wanted.token_ids
    stream.close()
    check_caches(stream)


@pytest.mark.skipif(sys.gettrace() is not None, reason="a tracer (coverage, a debugger) is at work already")
def test_ctrl_c_at_every_line_comes_to_the_same_end():
    """Not only inside a forward: at any line of the engine, commit and bookkeeping included. What the interrupted
    stream says of itself is consistent, and it goes on to the same end; no verdict and no token is told twice or not
    at all."""
    wanted = essence(new_stream(3).run())
    told = [event for event in map(tellings, new_stream(3)) if event]
    line_number, interrupted = 0, 0
    while True:
        line_number += 1 if line_number < 200 else 5
        stream, events = new_stream(3), []
        if not run_with_interrupt_at(line_number, stream, events):
            break
        interrupted += 1
        generation = stream.generation
        assert len(generation.token_ids) == len(generation.sources), line_number
        assert generation.text == "".join(piece.text for piece in generation.pieces), line_number
        events += stream
        assert essence(stream.generation) == wanted, line_number
        assert [event for event in map(tellings, events) if event] == told, line_number
        check_caches(stream)
    assert interrupted > 200


@pytest.mark.parametrize("number", range(1, 16))
def test_ctrl_c_before_a_delivery_is_noted_does_not_tell_the_event_again(number, monkeypatch):
    """The consumer has come back for the next event, so it has the last one."""
    told = [event for event in map(tellings, new_stream(3)) if event]
    stream, calls, noted = new_stream(3), itertools.count(1), Deliveries.note

    def note(self):
        if next(calls) == number:
            raise KeyboardInterrupt
        noted(self)

    monkeypatch.setattr(Deliveries, "note", note)
    events = []
    with pytest.raises(KeyboardInterrupt):
        events.extend(stream)  # what came before the interruption stays
    events += stream
    assert [event for event in map(tellings, events) if event] == told


def drafting_stream(kind):
    """A stream whose draft keeps something of its own between steps; audited."""
    target = random_gpt2("numba", seed=1) if kind == "layerskip" else TableModel(5, seed=1)
    draft, sampler, session = TableModel(5, seed=2), Sampler(PLAIN, len(PROMPT)), AuditedSession(target)
    drafter = {
        "ngram": lambda: NgramDrafter(5),
        "suffix": lambda: SuffixDrafter(5),
        "tree": lambda: FixedTreeDrafter(ModelSource(draft), sampler, fixed_tree([2, 2, 1]), num_slots=64),
        "cascade": lambda: CascadeDrafter(AuditedSession(draft, "draft"), sampler, NgramDrafter(5)),
        "layerskip": lambda: LayerSkipDrafter(session, sampler, 1),
    }[kind]()
    rule = get_verifier("tree" if kind == "tree" else "rejection")
    return Stream(
        PROMPT,
        session,
        drafter,
        sampler,
        PhiloxNoise(3),
        Limits(12, target.n_positions),
        policy=FixedGamma(3),
        verifier=rule,
        audit=True,
    )


@pytest.mark.skipif(sys.gettrace() is not None, reason="a tracer (coverage, a debugger) is at work already")
@pytest.mark.parametrize("kind", ["ngram", "suffix", "tree", "cascade", "layerskip"])
def test_ctrl_c_while_drafting_comes_to_the_same_end(kind):
    """Every kind of draft that remembers: an index half updated, a tree half kept, layers that ran ahead."""
    stream = drafting_stream(kind)
    told, wanted = [event for event in map(tellings, stream) if event], essence(stream.generation)
    assert stream.generation.metrics.num_draft_tokens
    line_number, interrupted = 0, 0
    while True:
        line_number += 61
        stream, events = drafting_stream(kind), []
        if not run_with_interrupt_at(line_number, stream, events):
            break
        interrupted += 1
        events += stream
        assert essence(stream.generation) == wanted, line_number
        assert [event for event in map(tellings, events) if event] == told, line_number
    assert interrupted > 50


def learning_stream(make):
    """A stream whose draft lengths depend on what the policy has learned: by a clock that only forwards move."""
    clock, sampler = SimulatedClock(), Sampler(PLAIN, len(PROMPT))
    target = CostedModel(TableModel(4, seed=1), clock, lambda rows: 1.0 + 0.05 * rows)
    draft = CostedModel(TableModel(4, seed=2), clock, lambda rows: 0.1)  # also where it reads what it missed at once
    drafter, noise, limits = ModelDrafter(Session(draft), sampler), PhiloxNoise(5), Limits(14, 64)
    return Stream(PROMPT, TreeSession(target), drafter, sampler, noise, limits, policy=make(), clock=clock)


@pytest.mark.skipif(sys.gettrace() is not None, reason="a tracer (coverage, a debugger) is at work already")
@pytest.mark.parametrize(
    ("make", "stride"),
    [(lambda: HeuristicGamma(1, 6), 3), (AutoGamma, 43), (lambda: Fallback(AutoGamma()), 43)],
    ids=["heuristic", "auto", "fallback"],
)
def test_ctrl_c_while_a_policy_decides_or_learns_comes_to_the_same_end(make, stride):
    """Half a lesson is undone and made again; what a policy noted of a draft that came to nothing is forgotten."""
    wanted = essence(learning_stream(make).run())
    line_number = interrupted = 0
    while True:
        line_number += stride
        stream, events = learning_stream(make), []
        if not run_with_interrupt_at(line_number, stream, events, within="minispec.engine.control."):
            break
        interrupted += 1
        assert essence(stream.run()) == wanted, line_number
    assert interrupted > 15


def test_an_event_that_was_not_delivered_comes_first():
    """Ctrl-C while a step is being done again delivers nothing twice and loses nothing."""
    stream = new_stream()
    assert isinstance(next(stream), Prefilled)
    first = [next(stream) for _ in range(3)]
    stream.close()
    rest = list(stream)
    assert sum(len(event.token_ids) for event in [*first, *rest] if isinstance(event, Emitted)) == len(
        stream.generation.token_ids
    )
    assert isinstance(rest[-1], Finished)
    assert list(stream) == []


def test_before_the_end_the_reason_is_interrupted():
    stream = new_stream()
    next(stream)
    assert stream.generation.finish_reason == "interrupted"
    assert stream.run().finish_reason != "interrupted"


def test_a_real_model_resumes_with_the_same_logits():
    """GPT-2, Numba: closing again and again changes nothing, although rejected rows stay beyond the length. (Not after
    every event: a step left after its draft each time would never be finished.)"""
    target, draft = random_gpt2("numba", seed=8), random_gpt2("numba", seed=9)

    def stream():
        return speculative_stream(PhiloxNoise(4), target, draft, PLAIN, (1, 2), Limits(18, 24), gamma=3)

    wanted, left = essence(stream().run()), stream()
    while left.generation.finish_reason == "interrupted":
        for _ in range(5):
            next(left, None)
        left.close()
    assert essence(left.generation) == wanted


def test_a_finished_run_lets_go_of_its_caches_at_once():
    """A cycle would keep megabytes until the collector happens to run."""
    run = new_stream()
    run.run()
    cache = weakref.ref(run.target.cache)
    gc.disable()
    try:
        del run
        assert cache() is None
    finally:
        gc.enable()
