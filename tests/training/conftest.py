"""Fixtures of the training tests. Nothing here imports PyTorch at the top: where it is missing, the tests skip."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    """Toy matrices gain nothing from threads, and threads that wait for each other on a busy machine lose much."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def corpus_folder(tmp_path_factory) -> Path:
    """The five corpus files, in plain text."""
    from minispec.training.corpus import FILE_DOMAINS
    from tests.training.toys import documents

    folder = tmp_path_factory.mktemp("corpus")
    names = [f"{domain}.train" for domain in FILE_DOMAINS] + ["stories.valid", "questions.valid"]
    for seed, name in enumerate(names):
        (folder / f"{name}.txt").write_text(documents(10 * seed), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def code_folder(tmp_path_factory) -> Path:
    """Python files, of which some are held out by their names."""
    from minispec.training.corpus import is_held_out

    folder = tmp_path_factory.mktemp("code")
    held_out = [name for name in (f"module_{number}.py" for number in range(400)) if is_held_out(name)][:2]
    for number, name in enumerate(["module_a.py", "module_b.py", *held_out]):
        body = "\n\n".join(f"def function_{k}(value):\n    return value + {k + number}" for k in range(40))
        (folder / name).write_text(body + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def packed_folder(tmp_path_factory, corpus_folder, code_folder) -> Path:
    """A work folder with tokenizer and packed tokens."""
    from minispec.training.corpus import read_corpus
    from minispec.training.data import pack
    from minispec.training.tokenize import train_tokenizer
    from tests.training.toys import VOCAB_SIZE

    work = tmp_path_factory.mktemp("work")
    texts = read_corpus(corpus_folder, code_folder)
    tokenizer = train_tokenizer(texts, VOCAB_SIZE)
    tokenizer.save(str(work / "tokenizer.json"))
    pack(tokenizer, texts, work / "packed")
    return work


@pytest.fixture
def toy_command(monkeypatch):
    """The command group, with the toy recipe in place of both presets."""
    from minispec.training import __main__ as command
    from tests.training.toys import VOCAB_SIZE, toy_preset

    monkeypatch.setattr(command, "PRESETS", {"cpu": toy_preset(), "gpu": toy_preset()})
    monkeypatch.setattr(command, "VOCAB_SIZE", VOCAB_SIZE)
    return command.main
