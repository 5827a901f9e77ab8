"""Fixtures of the training tests. PyTorch is not imported at the top: where it is missing, what needs it skips."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    """Toy matrices gain nothing from threads, and threads that wait for each other on a busy machine lose much."""
    try:
        import torch
    except ImportError:
        yield
        return
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(autouse=True)
def _one_number_format(monkeypatch):
    """Two runs that are to agree bit for bit must not measure for themselves which format is the faster one."""
    try:
        from minispec.lab.training import trainer
    except ImportError:
        return
    monkeypatch.setattr(trainer, "bfloat16_pays", lambda device: False)


@pytest.fixture(scope="session")
def corpus_folder(tmp_path_factory) -> Path:
    """The corpus files, in plain text."""
    from minispec.lab.training.mixture import FILES
    from tests.lab.training.toys import documents

    folder = tmp_path_factory.mktemp("corpus")
    for seed, name in enumerate(FILES):
        (folder / f"{name}.txt").write_text(documents(10 * seed), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def code_folder(tmp_path_factory) -> Path:
    """Python files, of which some are held out by their names."""
    from minispec.lab.training.python_files import is_held_out

    folder = tmp_path_factory.mktemp("code")
    held_out = [name for name in (f"module_{number}.py" for number in range(400)) if is_held_out(name)][:2]
    for number, name in enumerate(["module_a.py", "module_b.py", *held_out]):
        body = "\n\n".join(
            f'def function_{k}_{number}(value):\n    """Add {k + number}."""\n    return value + {k + number}'
            for k in range(40)
        )
        (folder / name).write_text(body + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def few_sums():
    """The generator makes as many problems as a toy needs."""
    from minispec.lab.training import mixture
    from minispec.lab.training.sums import training_drills, training_sums

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mixture, "training_sums", lambda: training_sums(200))
        patch.setattr(mixture, "training_drills", lambda: training_drills(60))
        patch.setattr(mixture, "HELD_OUT_SUMS", 4)
        yield


@pytest.fixture(scope="session")
def packed_folder(tmp_path_factory, corpus_folder, code_folder, few_sums) -> Path:
    """A work folder with tokenizer and packed tokens."""
    from minispec.lab.training.data import pack
    from minispec.lab.training.mixture import read_corpus, word_list
    from minispec.lab.training.tokenize import train_tokenizer
    from tests.lab.training.toys import VOCAB_SIZE

    work = tmp_path_factory.mktemp("work")
    texts = read_corpus(corpus_folder, code_folder)
    tokenizer = train_tokenizer(texts, VOCAB_SIZE)
    tokenizer.save(str(work / "tokenizer.json"))
    pack(tokenizer, texts, word_list(corpus_folder), work / "packed")
    return work


@pytest.fixture
def toy_command(monkeypatch, few_sums):
    """The command group, with the toy recipe in place of both presets."""
    pytest.importorskip("torch")
    from minispec.lab.training import __main__ as command
    from tests.lab.training.toys import VOCAB_SIZE, toy_preset

    monkeypatch.setattr(command, "PRESETS", {"cpu": toy_preset(), "gpu": toy_preset()})
    monkeypatch.setattr(command, "VOCAB_SIZE", VOCAB_SIZE)
    return command.main
