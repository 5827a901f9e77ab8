"""Caches that hold what they say, after long prompts, trees and interruptions; events that tell all, and once."""

from __future__ import annotations

import contextlib
import functools
import itertools
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from minispec.engine.control import FixedGamma
from minispec.engine.generation import Drafted, Emitted, Finished, Prefilled, Verified, api
from minispec.engine.generation import trace as traces
from minispec.engine.model.session import Session
from minispec.engine.model.toy import TableModel
from minispec.engine.model.tree_session import TreeSession
from minispec.engine.sampling import Constraint
from minispec.errors import OptionError
from tests.engine.laws.space import PLAIN, PROMPT, REGEX, TOKENIZER, models_by_name, table_target
from tests.models import Counted, random_gpt2

from .base import check

_MODEL = random_gpt2("numba", seed=8, n_positions=256, n_embd=12, n_layer=3, n_head=3, vocab_size=11)
_TEXT = np.random.default_rng(0).integers(0, 11, 220).tolist()


@functools.cache
def _one_by_one() -> list[np.ndarray]:
    """The logits after each token of the text, each fed alone."""
    session = Session(_MODEL)
    return [session.score([token])[0] for token in _TEXT]


@functools.cache
def _uncached(text: tuple[int, ...]) -> np.ndarray:
    """The logits after a text, all of which is fed at once."""
    return _MODEL.logits(text)[-1]


@check("trace", "prompts of one to four chunks: the cache, the tokens that were fed, and logits as if fed one by one")
def long_prompts() -> float:
    wrong = 0
    for length in (1, 63, 64, 65, 128, 130, 193, 200):
        model = Counted(_MODEL)
        session = Session(model)
        session.prefill(_TEXT[:length])
        wrong += session.tokens != _TEXT[:length] or model.num_fed != length
        logits = session.score(_TEXT[length : length + 5], 2)
        wrong += not np.array_equal(logits, _one_by_one()[length + 3 : length + 5])
    return float(wrong)


@check("trace", "a second prompt feeds what it does not share with the first, and is all that the cache holds then")
def prompts_that_share_a_beginning() -> float:
    wrong = 0
    for shared, length in itertools.product((0, 40, 64, 100), (0, 1, 70)):
        model = Counted(_MODEL)
        session, second = (
            Session(model),
            [*_TEXT[:shared], *[(token + 1) % 11 for token in _TEXT[shared : shared + length]]],
        )
        session.prefill(_TEXT[:100])
        session.prefill(second)
        wrong += session.tokens != second or model.num_fed != 100 + len(second) - shared
        wrong += not np.array_equal(session.score([3])[0], _uncached((*second, 3)))
    return float(wrong)


# ── trees ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _random_tree(generator: random.Random, size: int) -> tuple[list[int], list[int]]:
    return [generator.randrange(4) for _ in range(size)], [generator.randrange(-1, node) for node in range(size)]


def _random_path(generator: random.Random, parents: Sequence[int]) -> list[int]:
    path: list[int] = []
    while following := [i for i, parent in enumerate(parents) if parent == (path[-1] if path else -1)]:
        if path and generator.random() < 0.3:
            break
        path.append(generator.choice(following))
    return path


@check("trace", "thirty trees, grown in two parts, of which a path is kept: logits as if the cache had never held more")
def kept_paths() -> float:
    generator, session, wrong = random.Random(0), TreeSession(_MODEL), 0
    for _ in range(30):
        nodes, parents = _random_tree(generator, 8)
        session.score_tree([generator.randrange(11)], nodes[:5], parents[:5])
        grown = session.grow_tree(nodes[5:], parents[5:])
        path, text = _random_path(generator, parents), list(session.tokens)
        branch, node = [], 7
        while node >= 0:
            branch, node = [nodes[node], *branch], parents[node]
        wrong += not np.array_equal(grown[2], _uncached((*text, *branch)))
        session.keep(path)
        wrong += session.tokens != [*text, *(nodes[node] for node in path)]
        wrong += not np.array_equal(session.score([5])[0], _uncached((*session.tokens[:-1], 5)))
        if session.length > 40:
            session.rollback(3)
    return float(wrong)


@check("trace", "the path that reads given tokens, in trees where siblings and cousins bear the same ones")
def paths_found() -> float:
    generator, wrong = random.Random(1), 0
    for _ in range(40):
        nodes, parents = _random_tree(generator, 8)
        session = TreeSession(_MODEL)
        session.score_tree([1], nodes, parents)
        tokens, here, wanted = [generator.randrange(4) for _ in range(4)], -1, []
        for token in tokens:
            here = next((i for i in range(8) if parents[i] == here and nodes[i] == token), None)
            if here is None:
                break
            wanted.append(here)
        wrong += session.find_path(tokens) != wanted
    return float(wrong)


class _Interrupted:
    """A model whose forward is interrupted, when armed, after all of its keys and values are in the cache."""

    armed = False

    def __getattr__(self, name):
        return getattr(_MODEL, name)

    def forward(self, *args, **options):
        logits = _MODEL.forward(*args, **options)
        if self.armed:
            self.armed = False
            raise KeyboardInterrupt
        return logits


def _go_on(session: TreeSession, number: int) -> np.ndarray:
    """The calls of a run: a chain, a tree on it, more nodes, and a chain behind a kept path. Returns a row of each."""
    if number == 0:
        return session.score([1, 2, 3])[-1]
    if number == 1:
        return session.score_tree([4], [5, 6], [-1, -1])[1]
    if number == 2:
        return session.grow_tree([7, 8], [0, 1])[0]
    if session.length == 4:
        session.keep([0, 2])
    return session.score([9])[-1]


@check("trace", "forwards of chains and trees that were interrupted when all was written, and are run again")
def interrupted_forwards() -> float:
    wrong, texts = 0, ((1, 2, 3), (1, 2, 3, 4, 5), (1, 2, 3, 4, 5, 7), (1, 2, 3, 4, 5, 7, 9))
    for broken in range(4):
        model = _Interrupted()
        session = TreeSession(model)
        for number, text in enumerate(texts):
            model.armed = number == broken
            with contextlib.suppress(KeyboardInterrupt):
                row = _go_on(session, number)
            if number == broken:
                row = _go_on(session, number)
            wrong += not np.array_equal(row, _uncached(text))
    return float(wrong)


# ── events ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Watched(FixedGamma):
    """A policy that notes what it observes, and drafts as far as that says; one observation is interrupted, once."""

    def __init__(self, interrupted: int | None = None) -> None:
        super().__init__(3)
        self.observed: list[int] = []
        self.interrupted = interrupted
        self.interruptions = iter([KeyboardInterrupt])  # used up for good: only attributes are set back

    def gamma(self) -> int:
        return 2 + len(self.observed) % 2

    def observe(self, step) -> None:
        self.observed.append(step.index)
        if step.index == self.interrupted:
            for interruption in self.interruptions:
                raise interruption


class _InterruptedOnce:
    """A method whose call of some number is interrupted before it does anything."""

    def __init__(self, method, number: int) -> None:
        self._method, self._left = method, number

    def __call__(self, *args):
        self._left -= 1
        if self._left == -1:
            raise KeyboardInterrupt
        return self._method(*args)


def _stream(policy):
    target = table_target(eos=False)
    return api.stream(PROMPT, target=target, draft="table", gamma=policy, max_tokens=14, seed=5, logprobs=True, **PLAIN)


def _told(event) -> tuple:
    """All that an event tells but for the clock's figures."""
    names = [name for name in type(event).__slots__ if name not in ("elapsed_s", "generation")]
    return type(event).__name__, *(getattr(event, name) for name in names)


def _once(events: Sequence[object]) -> list[tuple]:
    """The events without drafts: a step that was interrupted is drafted again."""
    return [_told(event) for event in events if not isinstance(event, Drafted)]


@check("trace", "events tell each step once and in order, and together they are the run's result")
def events_of_a_run() -> float:
    wrong = 0
    for draft, siblings in (("table", None), ("tree:draft=table,shape=2x1", "tree")):
        with models_by_name():
            target = table_target(eos=False)
            options = {**PLAIN, **({"verify": "tree"} if siblings else {})}
            stream = api.stream(PROMPT, target=target, draft=draft, gamma=3, max_tokens=14, seed=5, **options)
            events = list(stream)
        result = stream.generation
        kinds = [type(event) for event in events]
        first, *steps = result.steps
        wrong += kinds != [Prefilled, Emitted, *[Drafted, Verified, Emitted] * len(steps), Finished]
        wrong += (events[1].step, events[1].position, events[1].token_ids) != (0, len(PROMPT), first.tokens)
        position = len(PROMPT) + 1
        for number, step in enumerate(steps, 1):
            drafted, verified, emitted = events[3 * number - 1 : 2 + 3 * number]
            wrong += [event.step for event in (drafted, verified, emitted)] != [number] * 3
            wrong += [event.position for event in (drafted, verified, emitted)] != [position] * 3
            kept = [drafted.tokens[node] for node in step.verdict.accepted]
            wrong += sorted([*kept, *verified.rejected]) != sorted(drafted.tokens) or verified.num_accepted != len(kept)
            wrong += emitted.token_ids != (*kept, verified.next_token)[: len(emitted.token_ids)]
            position += len(emitted.token_ids)
        emitted = events[1::3][: 1 + len(steps)]
        wrong += tuple(itertools.chain.from_iterable(event.token_ids for event in emitted)) != result.token_ids
        wrong += "".join(event.text for event in emitted) != result.text
        wrong += events[-1].generation != result
    return float(wrong)


@check("trace", "a run that is left after any event, or interrupted in any step, tells and teaches all of it once")
def interrupted_runs() -> float:
    wrong = 0
    with models_by_name():
        whole = list(_stream(_Watched()))
        num_steps = len(whole[-1].generation.steps)
        for left in range(len(whole)):
            policy = _Watched()
            stream = _stream(policy)
            events = [next(stream) for _ in range(left)]
            stream.close()
            events += list(stream)
            wrong += _once(events) != _once(whole) or policy.observed != list(range(1, num_steps))
        for interrupted, where in itertools.product(range(1, num_steps), ("observing", "going back")):
            policy, events = _Watched(interrupted if where == "observing" else None), []
            stream = _stream(policy)
            if where == "going back":
                stream.drafter.rollback = _InterruptedOnce(stream.drafter.rollback, interrupted)
            while not events or not isinstance(events[-1], Finished):
                with contextlib.suppress(KeyboardInterrupt):
                    events.append(next(stream))
            wrong += _once(events) != _once(whole) or policy.observed != list(range(1, num_steps))
    return float(wrong)


@check("trace", "a trace that was written and read again tells the same, line separators in its text included")
def traces_read_again() -> float:
    tokenizer = type("Separators", (), {"token_bytes": lambda self, token: (b"a", "\u2028".encode(), b"\x0b")[token]})()
    target = table_target(eos=False)
    target.tokenizer = tokenizer
    stream = api.stream(PROMPT, target=target, draft=TableModel(3, seed=2), max_tokens=9, logprobs=True, **PLAIN)
    events = list(stream)
    decode = lambda ids: b"".join(map(tokenizer.token_bytes, ids)).decode()  # noqa: E731
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.jsonl"
        path.write_text("".join(traces.to_line(event, decode) + "\n" for event in events), encoding="utf-8")
        try:
            found = traces.read_trace(path)
        except traces.InputError:
            return 1.0
    drafted = sorted({token for event in events if isinstance(event, Drafted) for token in event.tokens})
    same = found.events == tuple(events[:-1]) and found.decode(drafted) == decode(drafted)
    kept = ("token_ids", "text", "sources", "pieces", "metrics", "finish_reason", "prompt")
    return float(not same or any(getattr(found.generation, name) != getattr(stream.generation, name) for name in kept))


# ── constraints ─────────────────────────────────────────────────────────────────────────────────────────────────────


@check("trace", "what a form allows after each prefix, asked in any order, as if it were the first question")
def answers_of_a_form() -> float:
    generator, wrong = random.Random(2), 0
    prefixes = [list(prefix) for n in range(5) for prefix in itertools.product(range(3), repeat=n)]
    alone = {}
    for prefix in prefixes:
        alone[tuple(prefix)] = _new_form().mask(prefix).tolist()
    shared = _new_form()
    for _ in range(150):
        prefix = generator.choice(prefixes)
        try:
            wrong += shared.mask(prefix).tolist() != alone[tuple(prefix)]
        except OptionError:  # the matcher has given up, of a form that it knows all about
            wrong += 1
    wanted = {"": "a", "a": "ab", "aa": "ab.", "ab": "a.", "aab": "b."}  # the dot is the end
    allowed = {text: "".join("ab."[i] for i in np.flatnonzero(alone[tuple(map("ab".index, text))])) for text in wanted}
    return float(wrong + sum(allowed[text] != wanted[text] for text in wanted))


def _new_form() -> Constraint:
    with models_by_name():
        return Constraint(REGEX, "regex", TOKENIZER, {2}, 3)
