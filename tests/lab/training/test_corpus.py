"""Laws of text in and tokens out, and one clear line for each kind of bad input."""

from __future__ import annotations

import hashlib
import json
import lzma
import shutil

import numpy as np
import pytest
from click.testing import CliRunner
from tokenizers import Tokenizer

from minispec.errors import CorpusError
from minispec.lab.training.corpus import END_OF_TEXT, Text, clean, read_text, split_documents
from minispec.lab.training.data import Batches, encode, load_packed, pack, validation_rows
from minispec.lab.training.mixture import MIX, read_corpus, within
from minispec.lab.training.python_files import is_held_out, read_code, read_folder
from minispec.lab.training.sums import training_sums, uses_held_out_pair
from minispec.lab.training.tokenize import train_tokenizer
from tests.lab.training.toys import VOCAB_SIZE


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


def test_training_and_held_out_code_are_disjoint(corpus_folder, code_folder, few_sums):
    (library,) = read_code(code_folder)
    assert library.train
    assert library.valid
    assert not set(library.train) & set(library.valid)
    texts = {(text.name, text.split): text.documents for text in read_corpus(corpus_folder, code_folder)}
    assert texts["code", "valid"]
    assert not set(texts["code", "valid"]) & set(texts["functions", "train"])


def test_about_one_file_in_forty_is_held_out():
    share = np.mean([is_held_out(f"package/module_{number}.py") for number in range(20_000)])
    assert share == pytest.approx(1 / 40, abs=0.004)  # 3.6 standard deviations


def test_skipped_folders_are_not_read(tmp_path):
    for folder in ("site-packages", "encodings", "test", "json"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_text(f"# {folder}\n")
    assert read_folder(tmp_path, "").train == ("# json",)


def test_tokens_decode_to_the_documents(packed_folder, corpus_folder, code_folder):
    tokenizer = Tokenizer.from_file(str(packed_folder / "tokenizer.json"))
    assert tokenizer.get_vocab_size() == VOCAB_SIZE
    assert tokenizer.token_to_id(END_OF_TEXT) == 0
    odd = ("naïve — 数 \x00\t end", "def f():\n    return '🙂'\n")
    tokens = encode(tokenizer, odd)
    assert tokenizer.decode(tokens.tolist(), skip_special_tokens=False) == "".join(text + END_OF_TEXT for text in odd)
    stories = next(text for text in read_corpus(corpus_folder, code_folder) if text.name == "tinystories")
    packed = load_packed(packed_folder / "packed", "train", ("tinystories",))["tinystories"]
    assert tokenizer.decode(packed.tolist(), skip_special_tokens=False).split(END_OF_TEXT)[:-1] == list(
        stories.documents
    )


def test_the_manifest_names_the_text(packed_folder, corpus_folder):
    manifest = json.loads((packed_folder / "packed" / "manifest.json").read_text())
    documents = split_documents((corpus_folder / "mbpp.train.txt").read_text())
    joined = "".join(f"{document}\n{END_OF_TEXT}\n" for document in documents)
    assert manifest["mbpp.train"]["sha256"] == hashlib.sha256(joined.encode()).hexdigest()
    assert manifest["mbpp.train"]["sha256"] != manifest["tinystories.train"]["sha256"]
    assert manifest["functions.train"]["source"].startswith("Python files of ")
    for name, entry in manifest.items():
        assert entry["tokens"] == len(np.load(packed_folder / "packed" / f"{name}.npy"))


def test_every_digit_is_a_token_of_its_own():
    text = Text("svamp", "train", ("The answer is 123. 123 apples, 123 pears.",) * 50, "toy")
    tokenizer = train_tokenizer([text], 300)
    pieces = [tokenizer.decode([number]) for number in tokenizer.encode("The answer is 123.").ids]
    assert pieces[-4:] == [" 1", "2", "3", "."]
    assert " answer" in pieces  # words do join


def test_shares_within_a_domain_keep_their_ratios():
    code = within("code")
    assert sum(code.values()) == pytest.approx(1.0)
    assert sum(MIX.values()) == pytest.approx(1.0)
    assert code["functions"] / code["modules"] == pytest.approx(MIX["functions"] / MIX["modules"])


def test_nothing_trained_on_works_out_a_held_out_pair(corpus_folder, code_folder, few_sums, tmp_path):
    folder = tmp_path / "corpus"
    shutil.copytree(corpus_folder, folder)
    held_out = next(f"{a} + {b}" for a in range(2, 41) for b in range(2, 21) if uses_held_out_pair(f"{a} + {b} ="))
    kept = next(f"{a} + {b}" for a in range(2, 41) for b in range(2, 21) if not uses_held_out_pair(f"{a} + {b} ="))
    for name in ("svamp", "questions"):
        (folder / f"{name}.train.txt").write_text(f"Answer: {held_out}.\n{END_OF_TEXT}\nAnswer: {kept}.\n")
    texts = {text.name: text.documents for text in read_corpus(folder, code_folder) if text.split == "train"}
    assert texts["svamp"] == texts["gsm8k"] == (f"Answer: {kept}.",)
    assert not any(map(uses_held_out_pair, (*texts["sums"], *texts["drills"])))


def test_packing_again_leaves_a_running_training_its_tokens(packed_folder, corpus_folder, code_folder, tmp_path):
    shutil.copytree(packed_folder, tmp_path / "work")
    folder = tmp_path / "work" / "packed"
    mapped = load_packed(folder, "train", ("sums",))["sums"]
    before = np.array(mapped)
    tokenizer = Tokenizer.from_file(str(packed_folder / "tokenizer.json"))
    pack(tokenizer, [training_sums(3)], ("fox",), folder)
    np.testing.assert_array_equal(mapped, before)
    assert len(load_packed(folder, "train", ("sums",))["sums"]) < len(before)
    assert (folder / "words.txt").read_text() == "fox\n"
    assert not list(folder.glob("*.tmp"))


def test_rows_at_position_0_begin_with_a_document_where_one_is_near():
    documents = [np.full(length, 5, np.uint16) for length in (7, 11, 40, 3)] * 30
    tokens = np.concatenate([np.append(document, np.uint16(0)) for document in documents])
    batches = Batches({"a": tokens}, {"a": 1.0}, 64, seed=0)
    beginnings = {0, *(np.flatnonzero(tokens == 0) + 1)}
    rows = {True: 0, False: 0}
    for step in range(50):
        for start, offset in zip(starts_of(batches, step), batches.at(step, 8, 16).offsets, strict=True):
            rows[offset == 0] += start in beginnings
    assert rows[True] > 100  # of about 200: the others lie deep in a document of 40
    assert rows[False] < 30  # of about 200: by chance, one start in sixteen


def starts_of(batches: Batches, step: int) -> list[int]:
    """Where the rows of a batch were cut, told by numbering the tokens."""
    numbered = np.where(batches.packed["a"] == 0, 0, 1 + np.arange(len(batches.packed["a"])))
    twin = Batches({"a": numbered}, batches.mix, batches.context, batches.seed)
    rows = twin.at(step, 8, 16).tokens
    return [int(max(row[0], row[1] - 1)) - 1 for row in rows]  # a row may begin with an end of text


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
    (folder / "mbpp.train.txt").unlink()


def empty(folder):
    (folder / "mbpp.train.txt").write_text(" \n")


def only_separators(folder):
    (folder / "mbpp.train.txt").write_text(f"{END_OF_TEXT}\n{END_OF_TEXT}\n")


def latin_1(folder):
    (folder / "mbpp.train.txt").write_bytes("naïve".encode("latin-1"))


def damaged_xz(folder):
    (folder / "mbpp.train.txt").unlink()
    (folder / "mbpp.train.txt.xz").write_bytes(lzma.compress(b"words" * 100)[:40])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (remove, "has no mbpp.train.txt or mbpp.train.txt.xz"),
        (empty, "mbpp.train.txt is empty"),
        (only_separators, "holds only separators"),
        (latin_1, "mbpp.train.txt is not UTF-8 at byte 2"),
        (damaged_xz, "mbpp.train.txt.xz is not a whole .xz file"),
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
