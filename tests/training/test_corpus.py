"""Laws of text in and tokens out, and one clear line for each kind of bad input."""

from __future__ import annotations

import hashlib
import json
import lzma
import shutil

import numpy as np
import pytest

pytest.importorskip("torch")

from click.testing import CliRunner
from tokenizers import Tokenizer

from minispec.errors import CorpusError
from minispec.training.corpus import END_OF_TEXT, clean, is_held_out, read_code, read_corpus, read_text, split_documents
from minispec.training.data import encode, load_packed, validation_rows
from tests.training.toys import VOCAB_SIZE


def test_cleaning_changes_nothing_visible():
    assert clean("a  \r\n\tb \r\n\r\n c\n\n") == "a\n\tb\n\n c"
    assert clean(clean("x \n y")) == clean("x \n y")


def test_documents_are_cut_at_separators_only():
    text = f"one\nstill one\n{END_OF_TEXT}\n\n{END_OF_TEXT}\ntwo\n"
    assert split_documents(text) == ("one\nstill one", "two")


def test_compressed_and_plain_files_read_alike(tmp_path):
    (tmp_path / "a.txt").write_text("über\n", encoding="utf-8")
    (tmp_path / "b.txt.xz").write_bytes(lzma.compress("über\n".encode()))
    assert read_text(tmp_path / "a.txt") == read_text(tmp_path / "b.txt.xz") == "über\n"


def test_training_and_held_out_code_are_disjoint(code_folder):
    train, valid = (set(read_code(split, code_folder).documents) for split in ("train", "valid"))
    assert train
    assert valid
    assert not train & valid


def test_about_one_file_in_forty_is_held_out():
    share = np.mean([is_held_out(f"package/module_{number}.py") for number in range(20_000)])
    assert share == pytest.approx(1 / 40, abs=0.004)  # 3.6 standard deviations


def test_skipped_folders_are_not_read(tmp_path):
    for folder in ("site-packages", "encodings", "json"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_text(f"# {folder}\n")
    assert read_code("train", tmp_path).documents == ("# json",)


def test_tokens_decode_to_the_documents(packed_folder, corpus_folder, code_folder):
    tokenizer = Tokenizer.from_file(str(packed_folder / "tokenizer.json"))
    assert tokenizer.get_vocab_size() == VOCAB_SIZE
    assert tokenizer.token_to_id(END_OF_TEXT) == 0
    odd = ("naïve — 数 \x00\t end", "def f():\n    return '🙂'\n")
    tokens = encode(tokenizer, odd)
    assert tokenizer.decode(tokens.tolist(), skip_special_tokens=False) == "".join(text + END_OF_TEXT for text in odd)
    stories = next(text for text in read_corpus(corpus_folder, code_folder) if text.domain == "stories")
    packed = load_packed(packed_folder / "packed", "train", ("stories",))["stories"]
    assert tokenizer.decode(packed.tolist(), skip_special_tokens=False).split(END_OF_TEXT)[:-1] == list(
        stories.documents
    )


def test_the_manifest_names_the_text(packed_folder, corpus_folder):
    manifest = json.loads((packed_folder / "packed" / "manifest.json").read_text())
    documents = split_documents((corpus_folder / "novels.train.txt").read_text())
    joined = "".join(f"{document}\n{END_OF_TEXT}\n" for document in documents)
    assert manifest["novels.train"]["sha256"] == hashlib.sha256(joined.encode()).hexdigest()
    assert manifest["novels.train"]["sha256"] != manifest["stories.train"]["sha256"]
    assert manifest["code.train"]["source"].startswith("standard library of ") is False
    for name, entry in manifest.items():
        assert entry["tokens"] == len(np.load(packed_folder / "packed" / f"{name}.npy"))


def test_validation_rows_are_always_the_same_and_inside(packed_folder):
    tokens = load_packed(packed_folder / "packed", "valid", ("stories",))["stories"]
    rows = validation_rows(tokens, 5, 32)
    np.testing.assert_array_equal(rows, validation_rows(tokens, 5, 32))
    np.testing.assert_array_equal(rows[0], tokens[:33])
    np.testing.assert_array_equal(rows[-1], tokens[-33:])
    with pytest.raises(CorpusError, match="held-out text has 10 tokens; a row needs 33"):
        validation_rows(tokens[:10], 5, 32)


def spoil_nothing(folder):
    pass


def remove(folder):
    (folder / "novels.train.txt").unlink()


def empty(folder):
    (folder / "novels.train.txt").write_text(" \n")


def only_separators(folder):
    (folder / "novels.train.txt").write_text(f"{END_OF_TEXT}\n{END_OF_TEXT}\n")


def latin_1(folder):
    (folder / "novels.train.txt").write_bytes("naïve".encode("latin-1"))


def damaged_xz(folder):
    (folder / "novels.train.txt").unlink()
    (folder / "novels.train.txt.xz").write_bytes(lzma.compress(b"words" * 100)[:40])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (remove, "has no novels.train.txt or novels.train.txt.xz"),
        (empty, "novels.train.txt is empty"),
        (only_separators, "holds only separators"),
        (latin_1, "novels.train.txt is not UTF-8 at byte 2"),
        (damaged_xz, "novels.train.txt.xz is not a whole .xz file"),
        (shutil.rmtree, "is not a folder"),
        (spoil_nothing, None),
    ],
)
def test_a_bad_corpus_gives_one_line_before_any_work(spoil, message, corpus_folder, code_folder, toy_command, tmp_path):
    folder, work = tmp_path / "corpus", tmp_path / "work"
    shutil.copytree(corpus_folder, folder)
    spoil(folder)
    arguments = ["tokenizer", "--corpus", str(folder), "--code", str(code_folder), "--work", str(work)]
    result = CliRunner().invoke(toy_command, arguments)
    if message is None:  # the control: the same command on the whole corpus works
        assert result.exit_code == 0
        assert (work / "tokenizer.json").is_file()
        return
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not work.exists()
