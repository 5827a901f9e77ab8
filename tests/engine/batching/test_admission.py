"""What is admitted does not run out: each draft says what it may fill, and alone every request fits."""

from __future__ import annotations

import dataclasses
import functools
import tempfile
from pathlib import Path
from unittest import mock

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from minispec.engine.batching import Engine
from minispec.engine.batching import models as models_module
from minispec.engine.generation.prepare import Named
from minispec.engine.model.toy import TableModel
from minispec.errors import OptionError
from tests.engine.drafters.random_head import write_head
from tests.engine.generation.tiny import byte_tokenizer
from tests.models import random_gpt2

CONTEXT, SIZE, V = 48, 4, 7
LETTERS = [bytes([ord("a") + i]) for i in range(V)]
TARGET = dataclasses.replace(
    random_gpt2("panel", n_positions=CONTEXT, vocab_size=V, eos_token_id=5),
    tokenizer=byte_tokenizer([*LETTERS[:5], b"ababab", b"ddd"]),
)
PEAKED = TableModel(V, 2 * CONTEXT, seed=3, concentration=0.3)  # dynamic trees of it go deep, and push out much
FOREIGN = TableModel(V, 2 * CONTEXT, seed=4)
FOREIGN.tokenizer = byte_tokenizer(LETTERS)
HEADS = tempfile.TemporaryDirectory()
MODELS = {"small": PEAKED, "foreign": FOREIGN}


@functools.cache
def name_head(kind: str) -> str:
    return f"{kind}:head={write_head(Path(HEADS.name) / kind, kind, TARGET)}"


DYNAMIC = "tree:shape=dynamic,nodes=9,draft="
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
    "tree:shape=2x2,draft=HEAD",
    f"{DYNAMIC}small",
    f"{DYNAMIC}HEAD",
    "tree:shape=dynamic,nodes=9,depth=2,draft=small",
    "medusa",
    "eagle",
    "block",
]
POLICIES = [0, 1, 3, 8, "heuristic", "confidence:threshold=0.1"]


def load(name: str, *_: str) -> Named:
    return MODELS[name]


class AdmissionMachine(RuleBasedStateMachine):
    """Small budgets, any drafts, any company: a request is refused when it comes, or it comes to its end."""

    @initialize(pages=st.integers(2, 24), max_running=st.integers(1, 3))
    def open(self, pages: int, max_running: int) -> None:
        cache = TARGET.new_cache(capacity=SIZE)
        memory = pages * (cache.keys.nbytes + cache.values.nbytes)
        self.engine = Engine(TARGET, page_size=SIZE, kv_memory=memory, max_running=max_running)

    @rule(data=st.data())
    def add(self, data: st.DataObject) -> None:
        draft = data.draw(st.sampled_from(DRAFTS))
        if isinstance(draft, str):
            draft = draft.replace("HEAD", name_head(data.draw(st.sampled_from(["eagle", "block", "medusa"]))))
            draft = name_head(draft) if draft in {"medusa", "eagle", "block"} else draft
        is_tree = isinstance(draft, str) and draft.startswith("tree:")
        options = {
            "gamma": data.draw(st.sampled_from(POLICIES if is_tree else [*POLICIES, "load", "auto"])),
            "max_tokens": data.draw(st.integers(1, 20)),
            "temperature": data.draw(st.sampled_from([0.0, 1.0])),
            "seed": data.draw(st.integers(0, 5)),
            "verify": "tree" if is_tree else "rejection",
        }
        prompt = data.draw(st.lists(st.sampled_from([0, 1, 2, 6]), min_size=1, max_size=20))
        with mock.patch.object(models_module, "load_model", load):
            try:
                self.engine.add(prompt, draft=draft, **options)
            except OptionError as refused:
                if "may need" not in str(refused):
                    raise

    @precondition(lambda self: not self.engine.is_idle)
    @rule(count=st.integers(1, 8))
    def step(self, count: int) -> None:
        for _ in range(count):
            self.engine.step()

    def teardown(self) -> None:
        while hasattr(self, "engine") and not self.engine.is_idle:
            self.engine.step()
        assert not hasattr(self, "engine") or self.engine.models.all_free


TestAdmission = AdmissionMachine.TestCase
TestAdmission.settings = settings(max_examples=40, stateful_step_count=12, deadline=None)
