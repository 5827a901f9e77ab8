"""Heads beside a target on the emulated card: they draft what they draft in NumPy."""

from __future__ import annotations

import pytest

from minispec.engine.backends import NumpyBackend
from minispec.engine.backends.cuda import CupyBackend
from minispec.engine.drafters.heads import folder
from minispec.engine.generation import stream
from tests.engine.backends import emulator, fake_cupy
from tests.engine.backends.fake_cupy import FakeCupy
from tests.engine.drafters.random_head import write_head
from tests.models import random_gpt2

pytestmark = pytest.mark.skipif(emulator.COMPILER is None, reason="g++ compiles the emulated card; there is none")


@pytest.mark.parametrize("kind", ["eagle", *(pytest.param(k, marks=pytest.mark.slow) for k in ("medusa", "block"))])
def test_a_head_drafts_on_the_card_what_it_drafts_in_numpy(kind, tmp_path, monkeypatch):
    build = fake_cupy.builder(tmp_path)
    head = write_head(tmp_path / kind, kind, random_gpt2("numpy", n_layer=2))
    found = {}
    for backend in (NumpyBackend(), CupyBackend(FakeCupy(build))):
        monkeypatch.setattr(folder, "get_backend", lambda name, backend=backend: backend)
        target = random_gpt2(backend, n_layer=2)
        options = {"target": target, "max_tokens": 8, "temperature": 0.0}
        done = stream([1, 2, 3], draft=f"{kind}:head={head}", gamma=2, **options).run()
        found[backend.name] = (done.token_ids, [step.draft_tokens for step in done.steps])
    assert found["cupy"] == found["numpy"]
