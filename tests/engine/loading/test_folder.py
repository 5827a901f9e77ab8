"""What loads, and that every published form of the same weights is the same model."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

import numpy as np
import pytest

from minispec.engine.loading import load_model, load_tokenizer
from minispec.errors import ModelNotFoundError, OptionError, PromptError
from tests.engine.loading.folders import (
    CONFIG,
    assert_clear,
    byte_symbols,
    random_tensors,
    tokenizer_json,
    write_config,
    write_index,
    write_model,
    write_safetensors,
    write_tokenizer,
    write_vocab_and_merges,
)
from tests.models import bits

TOKENS = [1, 256, 3, 259, 0]


@pytest.fixture
def folder(tmp_path):
    return write_model(tmp_path / "model")


def logits(folder):
    return load_model(folder, backend="numpy").logits(TOKENS)


class TestForms:
    """The law: form is not content. Every form gives the logits of the plain file, bit for bit."""

    def test_prefix(self, folder):
        expected = logits(folder)
        tensors = {f"transformer.{name}": tensor for name, tensor in random_tensors().items()}
        tensors["lm_head.weight"] = tensors["transformer.wte.weight"]
        write_safetensors(folder / "model.safetensors", tensors)
        assert bits(logits(folder)) == bits(expected)

    def test_buffers_are_ignored_without_a_word(self, folder, caplog):
        expected = logits(folder)
        mask = {"h.0.attn.bias": np.ones((1, 1, 16, 16), bool), "h.1.attn.masked_bias": np.array(-1e4, np.float32)}
        write_safetensors(folder / "model.safetensors", mask | random_tensors())
        assert bits(logits(folder)) == bits(expected)
        assert caplog.records == []

    def test_other_tensors_are_ignored_with_one_warning(self, folder, caplog):
        expected = logits(folder)
        extra = {"score.weight": np.zeros((3, 8), np.float32), "multiple_choice_head.bias": np.zeros(1, np.float32)}
        write_safetensors(folder / "model.safetensors", extra | random_tensors())
        with caplog.at_level(logging.WARNING):
            assert bits(logits(folder)) == bits(expected)
        assert ["2 tensors" in record.getMessage() for record in caplog.records] == [True]

    def test_shards(self, folder):
        expected = logits(folder)
        tensors = random_tensors()
        (folder / "model.safetensors").unlink()
        names = sorted(tensors)
        files = {name: f"model-{i % 3 + 1:05d}-of-00003.safetensors" for i, name in enumerate(names)}
        for file in set(files.values()):
            write_safetensors(folder / file, {name: tensors[name] for name in names if files[name] == file})
        write_index(folder, files)
        assert bits(logits(folder)) == bits(expected)

    def test_a_single_file_wins_over_an_index(self, folder):
        expected = logits(folder)
        write_index(folder, {"wte.weight": "model-00001-of-00001.safetensors"})
        assert bits(logits(folder)) == bits(expected)

    def test_float16_is_its_float32_value(self, folder):
        tensors = {name: tensor.astype(np.float16) for name, tensor in random_tensors().items()}
        write_safetensors(folder / "model.safetensors", tensors)
        found = logits(folder)
        write_safetensors(folder / "model.safetensors", {n: t.astype(np.float32) for n, t in tensors.items()})
        assert bits(found) == bits(logits(folder))

    def test_bfloat16_is_the_upper_half_of_a_float32(self, folder):
        halves = {name: (tensor.view(np.uint32) >> 16).astype(np.uint16) for name, tensor in random_tensors().items()}
        write_safetensors(folder / "model.safetensors", halves)
        found = logits(folder)
        whole = {name: (half.astype(np.uint32) << 16).view(np.float32) for name, half in halves.items()}
        write_safetensors(folder / "model.safetensors", whole)
        assert bits(found) == bits(logits(folder))

    def test_a_head_that_differs_from_the_embedding_is_used_whatever_the_config_says(self, folder, caplog):
        """As transformers 5; transformers 4 used the embedding."""
        head = {"lm_head.weight": np.ones((260, 8), np.float32)}
        write_safetensors(folder / "model.safetensors", random_tensors() | head)
        found = logits(folder)
        assert ["both are there and differ" in record.getMessage() for record in caplog.records] == [True]
        write_config(folder, CONFIG | {"tie_word_embeddings": False})
        assert bits(found) == bits(logits(folder))

    def test_an_untied_head_is(self, folder):
        fields = {**CONFIG, "tie_word_embeddings": False}
        write_config(folder, fields)
        tensors = random_tensors(fields)
        write_safetensors(folder / "model.safetensors", tensors)
        first = logits(folder)
        tensors["lm_head.weight"] = tensors["lm_head.weight"] * 2
        write_safetensors(folder / "model.safetensors", tensors)
        np.testing.assert_array_equal(logits(folder), 2 * first)  # doubling is exact in floating point


class TestNames:
    def test_a_path_a_string_and_a_trailing_slash(self, folder):
        for name in (folder, str(folder), f"{folder}/"):
            assert load_model(name, backend="numpy").vocab_size == 260

    def test_home(self, folder, monkeypatch):
        monkeypatch.setenv("HOME", str(folder.parent))
        assert load_model("~/model", backend="numpy").n_positions == 16
        assert load_tokenizer("~/model").vocab_size == 260

    @pytest.mark.parametrize(
        "name", ["", " ", "~no-such-user-here/model", "x" * 5000, "a\0b", "/no/such/folder", "a//b"]
    )
    def test_no_model(self, name):
        with pytest.raises(ModelNotFoundError) as error:
            load_model(name)
        assert_clear(error.value)

    def test_an_empty_name_is_not_the_working_directory(self, folder, monkeypatch):
        monkeypatch.chdir(folder)
        with pytest.raises(ModelNotFoundError, match="empty"):
            load_model("")
        assert load_model(".", backend="numpy").vocab_size == 260

    def test_a_file_of_the_folder_points_to_the_folder(self, folder):
        with pytest.raises(ModelNotFoundError, match="is a file; a model is a folder") as error:
            load_model(folder / "config.json")
        assert str(folder) in str(error.value)
        assert_clear(error.value)

    def test_a_near_miss_of_a_bundled_name(self, folder, monkeypatch):
        monkeypatch.setattr("minispec.engine.loading.folder.bundled_folders", lambda: {"stories-target": folder})
        assert load_model("stories-target", backend="numpy").name == "stories-target"
        with pytest.raises(ModelNotFoundError, match="Did you mean 'stories-target'"):
            load_model("stories-taget")

    @pytest.mark.parametrize(
        ("option", "value"),
        [
            *(("backend", "cuda"), ("backend", ""), ("dtype", "int4"), ("dtype", "float64")),
            *(("kv_dtype", "int8"), ("kv_dtype", "")),
        ],
    )
    def test_options(self, folder, option, value):
        with pytest.raises(OptionError) as error:
            load_model(folder, **{option: value})
        assert_clear(error.value)

    def test_keys_and_values_are_kept_in_float32_unless_told_otherwise(self, folder):
        usual, halves = (load_model(folder, backend="numpy", kv_dtype=kv_dtype) for kv_dtype in ("auto", "float16"))
        assert (usual.kv_dtype, usual.new_cache().keys.dtype) == ("float32", np.float32)
        assert (halves.kv_dtype, halves.new_cache().keys.dtype) == ("float16", np.float16)


class TestTokenizer:
    def test_both_forms_are_the_same_tokenizer(self, folder):
        text = "the thé a\n\n日本 🙂 <|endoftext|>\x00 don't  "
        one = load_tokenizer(folder)
        (folder / "tokenizer.json").unlink()
        write_vocab_and_merges(folder)
        two = load_tokenizer(folder)
        assert one.encode(text) == two.encode(text)
        assert one.fingerprint() == two.fingerprint()
        assert one.special_ids == two.special_ids == {256}

    def test_ids_by_hand(self, folder):
        tokenizer = load_tokenizer(folder)
        assert tokenizer.encode("the a") == [258, 259]
        assert tokenizer.encode("é") == list("é".encode())
        assert tokenizer.decode([258, 259, 256, 0xC3, 0xA9]) == "the aé"

    def test_every_byte_comes_back(self, folder):
        tokenizer = load_tokenizer(folder)
        assert [tokenizer.token_bytes(byte) for byte in range(256)] == [bytes([byte]) for byte in range(256)]
        assert len(set(byte_symbols())) == 256

    def test_a_model_without_tokenizer_loads(self, folder):
        (folder / "tokenizer.json").unlink()
        assert load_model(folder, backend="numpy").tokenizer is None

    def test_truncation_and_padding_in_the_file_do_not_touch_a_prompt(self, folder):
        content = tokenizer_json()
        content["truncation"] = {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0}
        content["padding"] = {
            "strategy": {"Fixed": 12},
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 5,
            "pad_type_id": 0,
            "pad_token": "x",
        }
        write_tokenizer(folder, content)
        tokenizer = load_tokenizer(folder)
        assert tokenizer.encode("the a") == [258, 259]
        assert len(tokenizer.encode("zzzzzzzzzzzzzzzzzzz")) == 19

    def test_half_a_surrogate_pair_is_refused(self, folder):
        with pytest.raises(PromptError) as error:
            load_tokenizer(folder).encode("a\ud800")
        assert_clear(error.value)


@pytest.mark.skipif(not os.environ.get("HOME"), reason="no home")
def test_nothing_is_written_into_the_folder(folder):
    before = {path.name: path.stat().st_mtime_ns for path in Path(folder).iterdir()}
    load_model(folder, backend="numpy").logits(TOKENS)
    assert {path.name: path.stat().st_mtime_ns for path in Path(folder).iterdir()} == before


def test_the_config_is_read_as_utf_8(folder):
    (folder / "config.json").write_text(json.dumps({**CONFIG, "_name": "größe"}, ensure_ascii=False), encoding="utf-8")
    assert load_model(folder, backend="numpy").vocab_size == 260
