"""Models by name are kept for the next call: the same object while nothing that matters differs."""

from __future__ import annotations

import os
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from minispec.engine.batching import Engine
from minispec.engine.loading import kept
from tests.engine.loading.folders import write_model


@pytest.fixture
def recall(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(kept, "_kept", OrderedDict())
    return lambda folder, backend="numpy", dtype="float32": kept.recall_model(str(folder), backend, dtype, "auto")


def test_the_same_model_while_nothing_differs(tmp_path: Path, recall) -> None:
    folder = write_model(tmp_path / "a")
    first = recall(folder)
    assert recall(folder) is first
    assert recall(folder, dtype="auto") is not first
    assert recall(folder, backend="numba") is not first
    assert recall(write_model(tmp_path / "b")) is not first
    assert recall(folder) is first
    os.utime(folder / "config.json", (1e9, 1e9))
    assert recall(folder) is not first


def test_only_the_last_few_are_kept_and_nothing_large(tmp_path: Path, recall, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [write_model(tmp_path / f"{i}") for i in range(kept.MOST_MODELS + 1)]
    models = [recall(folder) for folder in folders]
    assert [recall(folder) is model for folder, model in zip(folders[1:], models[1:], strict=True)] == [True] * 4
    assert recall(folders[0]) is not models[0]
    monkeypatch.setattr(kept, "MOST_BYTES", 1)
    assert recall(tmp_path / "0", dtype="auto") is not recall(tmp_path / "0", dtype="auto")


def test_engines_keep_what_they_name_and_give_each_its_own_pages(tmp_path: Path, recall) -> None:
    folder = str(write_model(tmp_path / "a"))
    engines = [Engine(folder, backend="numpy", dtype="float32") for _ in range(2)]
    drafts = [engine.models.load(folder) for engine in engines]
    assert all(model.weights is recall(folder).weights for model in [*drafts, *(engine.target for engine in engines)])
    assert len({id(model.pool) for model in [*drafts, *(engine.target for engine in engines)]}) == 4


def test_threads_may_ask_at_once(tmp_path: Path, recall) -> None:
    folders = [write_model(tmp_path / f"{i}") for i in range(6)]
    with ThreadPoolExecutor(4) as pool:
        models = list(pool.map(recall, folders * 4))
    assert [model.name for model in models] == [str(folder) for folder in folders * 4]
    assert len(kept._kept) == kept.MOST_MODELS
