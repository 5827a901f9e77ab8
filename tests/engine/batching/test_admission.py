"""What is admitted does not run out: each draft says what it may fill, and alone every request fits."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from minispec.engine.batching import Engine
from minispec.engine.batching import models as models_module
from minispec.engine.drafters import plugins
from minispec.engine.model.toy import TableModel
from minispec.errors import OptionError
from tests.engine.drafters.random_head import write_head
from tests.engine.generation.tiny import byte_tokenizer
from tests.models import random_gpt2

CONTEXT, SIZE, V = 48, 4, 12
LETTERS = [bytes([ord("a") + i]) for i in range(V)]
TARGET = dataclasses.replace(
    random_gpt2("panel", n_positions=CONTEXT, vocab_size=V, eos_token_id=5),
    tokenizer=byte_tokenizer([*LETTERS[:-1], b"ababab"]),
)


class Alternating(TableModel):
    """Sure behind an odd number of tokens, else not at all: a dynamic tree feeds what it then pushes out."""

    def next_probs(self, prefix):
        return np.array([1.0 - 0.01 * (V - 1)] + [0.01] * (V - 1) if len(prefix) % 2 else [1.0 / V] * V)


PEAKED = Alternating(V, 2 * CONTEXT)
FOREIGN = TableModel(V, 2 * CONTEXT, seed=4)
FOREIGN.tokenizer = byte_tokenizer(LETTERS)
HEADS = tempfile.TemporaryDirectory()
MODELS = {"small": PEAKED, "foreign": FOREIGN}


def name_head(kind: str) -> str:
    return f"{kind}:head={write_head(Path(HEADS.name) / kind, kind, TARGET)}"


DYNAMIC = "tree:shape=dynamic,nodes=13"
DRAFTS = [
    None,
    PEAKED,
    "small",
    "ngram",
    "suffix",
    "layerskip",
    "self:dtype=int8",
    "cascade:draft=small",
    "synthetic:alpha=0.6",
    "foreign:translate=true",
    "forced:draft=small",
    "tree:shape=3x2x1,draft=small",
    f"{DYNAMIC},draft=small",
    f"{DYNAMIC},depth=2,draft=small",
    *(f"tree:shape=2x2,draft={name_head(kind)}" for kind in ("eagle", "block", "medusa")),
    *(f"{DYNAMIC},draft={name_head(kind)}" for kind in ("eagle", "block", "medusa")),
    *map(name_head, ("eagle", "block", "medusa")),
]


def name_draft(draft: Any) -> str:
    """Name a case alike in every process of pytest-xdist, which refuses to run others."""
    return "a model" if draft is PEAKED else str(draft).replace(f"{HEADS.name}/", "")


def load(name: str, *_: str) -> TableModel:
    return MODELS[name]


@pytest.fixture(autouse=True, scope="module")
def no_plugins():
    """To look for them takes milliseconds, each time."""
    with (
        mock.patch.object(plugins, "entry_points", return_value=()),
        mock.patch.object(models_module, "recall_model", load),
    ):
        yield


def open_engine(pages: int, **options: int) -> Engine:
    cache = TARGET.new_cache(capacity=SIZE)
    memory = pages * int(cache.keys.nbytes + cache.values.nbytes)
    return Engine(TARGET, page_size=SIZE, kv_memory=memory, **options)


def add(engine: Engine, draft: Any, prompt: list[int], **options: Any) -> bool:
    """Add a request; return whether it was admitted."""
    is_tree = isinstance(draft, str) and draft.startswith("tree:")
    try:
        engine.add(prompt, draft=draft, verify="tree" if is_tree else "rejection", **options)
    except OptionError as error:
        if "may need" not in str(error) and "shape of its own" not in str(error):
            raise
        return False
    return True


@pytest.mark.parametrize("draft", DRAFTS, ids=name_draft)
def test_alone_it_is_refused_or_comes_to_its_end(draft: Any) -> None:
    """Budgets from one page on; γ up to the deepest trees."""
    admitted = 0
    for pages in (*range(2, 12), 14, 24):
        for gamma in (3, 8):
            engine = open_engine(pages)
            if add(
                engine,
                draft,
                [11, 11, 11, 11, 11, 0],
                gamma=gamma,
                temperature=1.0,
                max_tokens=14,
                min_tokens=14,
                seed=pages,
            ):
                engine.run()
                admitted += 1
                assert engine.models.all_free
    assert admitted, "whoever refuses everything keeps no promise"


class AdmissionMachine(RuleBasedStateMachine):
    """Small budgets, any drafts, any company: a request is refused when it comes, or it comes to its end."""

    @initialize(pages=st.integers(3, 20), max_running=st.integers(1, 3))
    def open(self, pages: int, max_running: int) -> None:
        self.engine = open_engine(pages, max_running=max_running)

    @rule(
        draft=st.sampled_from(DRAFTS),
        prompt=st.lists(st.sampled_from([0, 1, 2, 11]), min_size=1, max_size=12),
        gamma=st.sampled_from([0, 1, 3, 8, "heuristic", "confidence:threshold=0.1"]),
        max_tokens=st.integers(1, 20),
        temperature=st.sampled_from([0.0, 1.0]),
        seed=st.integers(0, 5),
    )
    def add(self, draft: Any, prompt: list[int], **options: Any) -> None:
        add(self.engine, draft, prompt, **options)

    @rule(count=st.integers(1, 8))
    def step(self, count: int) -> None:
        for _ in range(count):
            self.engine.step()

    def teardown(self) -> None:
        if hasattr(self, "engine"):
            self.engine.run()
            assert self.engine.models.all_free


TestAdmission = AdmissionMachine.TestCase
TestAdmission.settings = settings(max_examples=30, stateful_step_count=12, deadline=None)
