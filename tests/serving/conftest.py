"""One server of tiny models for all tests that need no other."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import run_here  # noqa: F401  # a fixture
from tests.serving.running import Running, running
from tests.tiny import write_model


@pytest.fixture(scope="session")
def target(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("serving") / "tiny-target"
    return str(write_model(folder, seed=1, scale=0.3, n_positions=512))


@pytest.fixture(scope="session")
def draft(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("serving") / "tiny-draft"
    return str(write_model(folder, seed=2, n_embd=8, n_layer=1, scale=0.3, n_positions=512))


@pytest.fixture(scope="session")
def drafts(target: str, draft: str) -> tuple[str, ...]:
    """A poor draft, two that copy, a tree, and one whose drafts are always right."""
    return (draft, "ngram", "suffix", f"tree:shape=2x2,draft={draft}", target)


@pytest.fixture(scope="session")
def server(target: str, drafts: tuple[str, ...]) -> Iterator[Running]:
    with running(target, drafts) as found:
        yield found


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_text("0123456789abcdef0123\n", encoding="utf-8")
    path.chmod(0o600)
    return path


@pytest.fixture
def steps(server, monkeypatch):
    """Let the engine take a step only when told to; returns what tells it, and what each step told."""
    allowed, told, step = threading.Semaphore(0), [], server.engine.step

    def step_when_told(watch):
        allowed.acquire()
        events = step(watch)
        told.append(events)
        return events

    monkeypatch.setattr(server.engine, "step", step_when_told)
    yield allowed, told
    allowed.release(100_000)
    server.wait_until_idle()
