"""A run whose draft lengths followed a clock is the same run again when they are read from its trace."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from minispec.engine.control import FixedGamma, GammaPolicy, HeuristicGamma
from minispec.engine.drafters import FixedTreeDrafter, ModelSource
from minispec.engine.drafters.base import allow_all
from minispec.engine.drafters.cascade import CascadeDrafter
from minispec.engine.drafters.ngram import NgramDrafter
from minispec.engine.drafters.trees.shapes import fixed_tree
from minispec.engine.generation import Stream, stream
from minispec.engine.generation.events import Drafted, Event, to_dict
from minispec.engine.generation.stopping import Limits
from minispec.engine.model.asks import answer
from minispec.engine.model.session import Session
from minispec.engine.model.tree_session import TreeSession
from minispec.engine.noise import Coins
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.sampling import Sampler, SamplingParams
from minispec.engine.verifiers import get_verifier
from minispec.errors import OptionError
from tests.models import random_gpt2

TARGET, DRAFT = random_gpt2(seed=1), random_gpt2(seed=1, n_layer=1)
PROMPT = [1, 2, 3, 1, 2, 3, 1, 2]


def erratic_clock(seed: int):
    """Time passes by leaps: policies that look at it decide differently at every step."""
    generator, now = random.Random(seed), [0.0]

    def clock() -> float:
        now[0] += generator.expovariate(1.0)
        return now[0]

    return clock


def start(draft, gamma: str | GammaPolicy, seed: int = 0, **options) -> Stream:
    return stream(
        PROMPT,
        target=TARGET,
        draft=draft,
        gamma=gamma,
        temperature=1.0,
        max_tokens=40,
        seed=3,
        clock=erratic_clock(seed),
        **options,
    )


def write(events: list[Event], path: Path) -> str:
    path.write_text("".join(json.dumps(to_dict(event)) + "\n" for event in events), encoding="utf-8")
    return f"replay:trace={path}"


def lengths(run: Stream) -> list[int]:
    return [len(step.draft_tokens) for step in run.generation.steps]


@pytest.mark.parametrize("fallback", ["off", "request"])
@pytest.mark.parametrize("draft", [DRAFT, "ngram", "suffix", "layerskip:k=1", "self", "synthetic:alpha=0.6"])
def test_a_timed_run_is_replayed_by_every_kind_of_draft(tmp_path: Path, draft, fallback: str) -> None:
    schedules = set()
    for seed in range(4):
        timed = start(draft, "auto", seed, fallback=fallback)
        trace = write(list(timed), tmp_path / "trace.jsonl")
        again = start(draft, trace, seed + 100).run()
        assert again.reproducible
        assert again.token_ids == timed.generation.token_ids
        assert [len(step.draft_tokens) for step in again.steps] == lengths(timed)
        schedules.add(tuple(lengths(timed)))
    assert len(schedules) > 1 or draft in ("ngram", "suffix")  # the clock did decide something


@pytest.mark.parametrize("seed", range(4))
def test_a_cascade_drafts_the_same_tokens_however_many_it_may_draft(seed: int) -> None:
    """Or a draft that a policy cut short could not be replayed as a shorter one."""

    def drafted(gamma: int) -> tuple[int, ...]:
        drafter = CascadeDrafter(Session(DRAFT), SamplingParams(1.0, top_p=1.0), NgramDrafter(DRAFT.vocab_size, 1))
        coins = Coins(PhiloxNoise(seed), position=3 * len(PROMPT))
        return answer(drafter.propose(PROMPT * 3, gamma, coins, allow_all)).tokens

    longest = drafted(12)
    for gamma in range(12):
        assert drafted(gamma) == longest[:gamma]


@pytest.mark.parametrize("gamma", ["auto", "heuristic", "confidence:threshold=0.2"])
@pytest.mark.parametrize("fallback", ["off", "request"])
def test_an_interrupted_run_is_replayed_from_all_its_events(tmp_path: Path, gamma: str, fallback: str) -> None:
    """A step that was left after its draft is drafted again, by then perhaps with another length."""
    generator = random.Random(5)
    timed = start(DRAFT, gamma, seed=9, fallback=fallback)
    events: list[Event] = []
    twice = 0
    while timed.generation.finish_reason == "interrupted":
        for event in timed:
            events.append(event)
            if generator.random() < 0.3:
                twice += isinstance(event, Drafted)
                timed.close()
                break
    events += list(timed)
    again = start(DRAFT, write(events, tmp_path / "trace.jsonl")).run()
    assert twice > 0
    assert again.token_ids == timed.generation.token_ids


def test_a_trace_of_when_the_first_token_was_drafted_for_is_refused(tmp_path: Path) -> None:
    """Its steps count otherwise: from 0, where a trace of today begins its drafts with step 1."""
    trace = write(list(start(DRAFT, "auto")), tmp_path / "trace.jsonl")
    old = (tmp_path / "trace.jsonl").read_text(encoding="utf-8").replace('"step": 1,', '"step": 0,')
    (tmp_path / "trace.jsonl").write_text(old, encoding="utf-8")
    with pytest.raises(OptionError, match="is of an earlier version: its first token was drafted for"):
        start(DRAFT, trace)


def test_a_run_with_a_tree_has_no_schedule_to_replay() -> None:
    """A tree's shape is fixed and no timed policy may change it: the seed alone reproduces the run."""
    runs = []
    for seed in (1, 2):
        sampler = Sampler(SamplingParams(1.0))
        shape = FixedTreeDrafter(ModelSource(DRAFT), sampler, fixed_tree([3, 1]), num_slots=64)
        limits = Limits(40, 64, (), frozenset())
        runs.append(
            Stream(PROMPT, TreeSession(TARGET), shape, sampler, PhiloxNoise(3), limits, policy=FixedGamma(5),
                   verifier=get_verifier("tree"), clock=erratic_clock(seed)).run()
        )  # fmt: skip
    assert runs[0].reproducible
    assert runs[0].token_ids == runs[1].token_ids
    for draft in ("tree:shape=3x1", shape):
        for gamma in ("auto", "confidence", HeuristicGamma(2)):
            with pytest.raises(OptionError, match="shape of its own"):
                start(draft, gamma, verify="tree")
