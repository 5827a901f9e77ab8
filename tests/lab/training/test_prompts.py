"""The command that draws held-out prompts, on a toy corpus: how many, which, the same every time, and bad input."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("torch")

from click.testing import CliRunner

from minispec.lab.prompts import read_prompts
from minispec.lab.training import prompts
from minispec.lab.training.corpus import END_OF_TEXT
from minispec.lab.training.python_files import small_functions

STORIES = [" ".join(f"word{story}x{i}" for i in range(prompts.STORY_WORDS + 4)) + "." for story in range(6)]
PROBLEMS = [f"Question: What is {n} and {n}?\nAnswer: {n} + {n} = {2 * n}.\nThe answer is {2 * n}." for n in range(60)]
LONG = f"Question: What is one{' and one' * 100}?\nAnswer: Many.\nThe answer is 101."


@pytest.fixture
def toy_corpus(corpus_folder: Path, tmp_path: Path, monkeypatch) -> Path:
    """Six held-out stories of which two are trained on; problems, of which one is too long and two are trained on."""
    folder = tmp_path / "corpus"
    shutil.copytree(corpus_folder, folder)
    separator = f"\n{END_OF_TEXT}\n"
    (folder / "tinystories.valid.txt").write_text(separator.join(STORIES))
    (folder / "storybooks.train.txt").write_text(f"It was thus. {STORIES[1]}{separator}{STORIES[4]} The end.")
    (folder / "svamp.valid.txt").write_text(separator.join([LONG, *PROBLEMS[:5]]))
    (folder / "svamp.train.txt").write_text(separator.join(PROBLEMS[3:5]))
    (folder / "questions.valid.txt").write_text(separator.join(PROBLEMS[20:24]))
    for name, count in {"NUM_PROMPTS": 4, "NUM_SUMS": 2, "NUM_PROBLEMS": 3}.items():
        monkeypatch.setattr(prompts, name, count)
    return folder


def draw(command, corpus: Path, code: Path, output: Path):
    return CliRunner().invoke(
        command, ["prompts", "--corpus", str(corpus), "--code", str(code), "-o", str(output)], catch_exceptions=False
    )


def test_prompts_are_drawn_from_what_is_held_out(toy_command, toy_corpus, code_folder, tmp_path):
    output = tmp_path / "prompts.jsonl"
    done = draw(toy_command, toy_corpus, code_folder, output)
    assert done.exit_code == 0, done.output
    assert "26 prompts" in done.output
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    assert Counter(line["domain"] for line in lines) == {"stories": 4, "code": 4, "questions": 6 * 2 + 2 * 3}
    assert len({line["prompt"] for line in lines}) == len({line["id"] for line in lines}) == len(lines)

    begun = {line["prompt"] for line in lines if line["domain"] == "stories"}
    assert begun == {" ".join(STORIES[i].split()[: prompts.STORY_WORDS]) for i in (0, 2, 3, 5)}
    asked = {line["prompt"]: line["answer"] for line in lines if line["source"] == "SVAMP"}
    assert asked == {f"Question: What is {n} and {n}?\nAnswer:": str(2 * n) for n in range(3)}
    held_out = [path for path in code_folder.iterdir() if path.name not in ("module_a.py", "module_b.py")]
    functions = [small_functions(path.read_text()) for path in held_out]
    for line in (line for line in lines if line["domain"] == "code"):
        assert any(function.startswith(line["prompt"]) for file in functions for function in file)
        assert line["prompt"].endswith('"""\n')
    files = Counter(
        next(i for i, file in enumerate(functions) if any(each.startswith(line["prompt"]) for each in file))
        for line in lines
        if line["domain"] == "code"
    )
    assert files == {0: 2, 1: 2}, "files take turns"

    read = read_prompts(output)
    assert [(each.id, each.text, each.domain) for each in read] == [(x["id"], x["prompt"], x["domain"]) for x in lines]
    assert all((each.answer is not None) == (each.domain == "questions") for each in read)
    draw(toy_command, toy_corpus, code_folder, tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == output.read_bytes()


def test_too_few_prompts_are_one_line_and_no_file(toy_command, toy_corpus, code_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(prompts, "NUM_PROMPTS", 5)
    done = draw(toy_command, toy_corpus, code_folder, tmp_path / "prompts.jsonl")
    assert done.exit_code == 2
    assert done.output.count("\n") == 1
    assert "4 prompts" in done.output
    assert "5 are needed" in done.output
    assert list(tmp_path.iterdir()) == [toy_corpus]


def test_a_place_that_cannot_be_written_is_one_line(toy_command, toy_corpus, code_folder, tmp_path):
    done = draw(toy_command, toy_corpus, code_folder, tmp_path / "nowhere" / "prompts.jsonl")
    assert done.exit_code == 2
    assert done.output.count("\n") == 1
    assert "nowhere" in done.output
    assert list(tmp_path.iterdir()) == [toy_corpus]
