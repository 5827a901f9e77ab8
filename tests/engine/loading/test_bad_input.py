"""A folder that is not a model gives one clear line of ours: value, rule, way out. Never a traceback of a library."""

from __future__ import annotations

import json

import numpy as np
import pytest

from minispec.engine.loading import load_model, load_tokenizer
from minispec.engine.loading.bundled import read_front_matter
from minispec.errors import InputError, ModelFileError
from tests.engine.loading.folders import (
    CONFIG,
    assert_clear,
    random_tensors,
    tokenizer_json,
    write_config,
    write_index,
    write_model,
    write_safetensors,
    write_tokenizer,
)


@pytest.fixture
def folder(tmp_path):
    return write_model(tmp_path / "model")


def refused(folder, match):
    with pytest.raises(ModelFileError, match=match) as error:
        load_model(folder, backend="numpy")
    assert_clear(error.value)
    assert error.value.__suppress_context__ or error.value.__context__ is None  # no library's traceback beneath it
    assert error.value.exit_code == 2


class TestMissing:
    def test_nothing_at_all(self, tmp_path):
        refused(tmp_path, "config.json is missing")

    def test_no_weights(self, folder):
        (folder / "model.safetensors").unlink()
        refused(folder, "model.safetensors is missing")

    def test_config_is_a_folder(self, folder):
        (folder / "config.json").unlink()
        (folder / "config.json").mkdir()
        refused(folder, "config.json is missing")

    @pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.pth"])
    def test_pickle_only_is_never_opened(self, folder, name):
        (folder / "model.safetensors").unlink()
        (folder / name).write_bytes(b"cos\nsystem\n(S'touch ran'\ntR.")
        refused(folder, f"only pickle weights .{name}.*save_pretrained")

    def test_no_tokenizer_to_load(self, folder):
        (folder / "tokenizer.json").unlink()
        with pytest.raises(ModelFileError, match=r"no tokenizer\.json") as error:
            load_tokenizer(folder)
        assert_clear(error.value)


class TestWeightFile:
    @pytest.mark.parametrize("keep", [0, 1, 7, 8, 9, 100, -1, -2000])
    def test_cut_short(self, folder, keep):
        path = folder / "model.safetensors"
        path.write_bytes(path.read_bytes()[:keep])
        refused(folder, "not a sound safetensors file")

    def test_bytes_left_over(self, folder):
        path = folder / "model.safetensors"
        path.write_bytes(path.read_bytes() + b"\0" * 8)
        refused(folder, "not a sound safetensors file")

    @pytest.mark.parametrize("size", [0, 2**31, 2**62, 2**64 - 1])
    def test_header_size_that_lies(self, folder, size):
        path = folder / "model.safetensors"
        path.write_bytes(size.to_bytes(8, "little") + path.read_bytes()[8:])
        refused(folder, "not a sound safetensors file")

    @pytest.mark.parametrize(
        "change",
        [
            {"data_offsets": [0, 10]},
            {"data_offsets": [-8, 24]},
            {"data_offsets": [64, 32]},
            {"data_offsets": [2**63, 2**63 + 32]},
            {"data_offsets": [0]},
            {"data_offsets": None},
            {"shape": [2**40, 8]},
            {"shape": [2**63, 2**63]},
            {"shape": [9]},
            {"shape": [-8]},
            {"shape": [8.0]},
            {"shape": "8"},
            {"dtype": "F64"},
            {"dtype": "float32"},
            {"dtype": ""},
            {"dtype": "x\ny" * 500},
        ],
        ids=str,
    )
    def test_entries_that_lie(self, folder, change):
        def header(entries):
            return entries | {"ln_f.bias": entries["ln_f.bias"] | change}

        write_safetensors(folder / "model.safetensors", random_tensors(), header)
        refused(folder, "not a sound safetensors file")

    @pytest.mark.parametrize("header", [[], "", 5, None, {"ln_f.bias": 5}, {"ln_f.bias": {}}], ids=repr)
    def test_headers_that_are_none(self, folder, header):
        write_safetensors(folder / "model.safetensors", random_tensors(), lambda _: header)
        refused(folder, "not a sound safetensors file")

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("dtype", ["float32", "float16"])
    @pytest.mark.parametrize("name", ["wte.weight", "h.1.mlp.c_fc.bias"])
    def test_nan_and_infinity(self, folder, name, dtype, value):
        tensors = {key: tensor.astype(dtype) for key, tensor in random_tensors().items()}
        tensors[name].flat[-1] = value
        write_safetensors(folder / "model.safetensors", tensors)
        refused(folder, f"'{name}' holds NaN or infinite weights")

    @pytest.mark.parametrize("half", [0x7FC0, 0x7F81, 0xFF80])
    def test_nan_and_infinity_in_bfloat16(self, folder, half):
        tensors = {name: (tensor.view(np.uint32) >> 16).astype(np.uint16) for name, tensor in random_tensors().items()}
        tensors["ln_f.weight"][0] = half
        write_safetensors(folder / "model.safetensors", tensors)
        refused(folder, "'ln_f.weight' holds NaN or infinite weights")

    def test_a_signalling_nan(self, folder):
        tensors = random_tensors()
        tensors["ln_f.weight"].view(np.uint32)[3] = 0x7F800001
        write_safetensors(folder / "model.safetensors", tensors)
        refused(folder, "'ln_f.weight' holds NaN")

    def test_a_type_we_do_not_read(self, folder):
        write_safetensors(folder / "model.safetensors", {n: t.astype(np.float64) for n, t in random_tensors().items()})
        refused(folder, "is F64; minispec reads F32, F16, BF16")

    def test_the_same_tensor_under_both_names(self, folder):
        tensors = random_tensors()
        tensors["transformer.wte.weight"] = tensors["wte.weight"] + 1
        write_safetensors(folder / "model.safetensors", tensors)
        refused(folder, "'wte.weight' is there twice")

    def test_a_layer_number_of_5000_digits(self, folder):
        tensors = random_tensors() | {f"h.{'9' * 5000}.ln_1.bias": np.zeros(1, np.float32)}
        write_safetensors(folder / "model.safetensors", tensors)
        assert load_model(folder, backend="numpy").vocab_size == 260  # no tensor of ours: ignored with a warning


class TestConfigAgainstWeights:
    @pytest.mark.parametrize(
        ("change", "match"),
        [
            ({"n_layer": 1}, "'h.1.attn.c_attn.bias'.*says n_layer 1"),
            ({"n_layer": 3}, "'h.2.ln_1.weight' is missing"),
            ({"n_layer": 2**30}, "'h.2.ln_1.weight' is missing"),
            ({"n_embd": 16}, r"'wte.weight' has shape \(260, 8\).*\(260, 16\)"),
            ({"n_embd": 2**30}, "'wte.weight' has shape"),
            ({"vocab_size": 259}, "'wte.weight' has shape"),
            ({"vocab_size": 2**31 - 1}, "'wte.weight' has shape"),
            ({"n_positions": 17}, "'wpe.weight' has shape"),
            ({"n_positions": 2**31 - 1}, "'wpe.weight' has shape"),
            ({"n_inner": 64}, "'h.0.mlp.c_fc.weight' has shape"),
            ({"n_inner": 2**31 - 1}, "'h.0.mlp.c_fc.weight' has shape"),
            ({"tie_word_embeddings": False}, "'lm_head.weight' is missing"),
        ],
        ids=str,
    )
    def test_contradictions(self, folder, change, match):
        write_config(folder, CONFIG | change)
        refused(folder, match)

    def test_a_shape_of_thousands_of_axes_is_not_printed(self, folder):
        tensors = random_tensors()
        tensors["wte.weight"] = tensors["wte.weight"].reshape(1, 1, 1, 1, 260, 8)

        def header(entries):
            return entries | {"wte.weight": entries["wte.weight"] | {"shape": [1] * 5000 + [260, 8]}}

        write_safetensors(folder / "model.safetensors", tensors, header)
        refused(folder, "'wte.weight' has shape")


class TestConfigFile:
    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"{",
            b"nul",
            b"\xff\xfe{}",
            b"[" * 100_000,
            b"{'a': 1}",
            b'{"n_layer": ' + b"9" * 5000 + b"}",
            b'{"a":' * 50_000,
            b"\x00" * 100,
        ],
        ids=lambda content: repr(content[:12]),
    )
    def test_not_json(self, folder, content):
        (folder / "config.json").write_bytes(content)
        refused(folder, "config.json is not JSON")

    @pytest.mark.parametrize("content", ["[]", "5", '"' + "x\\n" * 10_000 + '"', "null", "[[[[[[[[]]]]]]]]", "NaN"])
    def test_no_object(self, folder, content):
        (folder / "config.json").write_text(content)
        refused(folder, "not a JSON object")

    def test_too_large(self, folder):
        with (folder / "config.json").open("wb") as file:
            file.truncate(2**33)  # 8 GiB of nothing: sparse, so it costs no room, and must cost no memory
        refused(folder, "larger than 8 MiB")


class TestIndex:
    @pytest.mark.parametrize(
        "name",
        ["../model.safetensors", "/etc/passwd", "a/b.safetensors", "..", ".", "", "a\nb", "\ud800", "x" * 9999, 5],
    )
    def test_names_that_are_no_file_of_the_folder(self, folder, name):
        (folder / "model.safetensors").rename(folder.parent / "model.safetensors")
        write_index(folder, {"wte.weight": name})
        refused(folder, "is not a file name of this folder|is missing")

    @pytest.mark.parametrize("weight_map", [None, [], {}, 5, "model.safetensors"], ids=repr)
    def test_no_map(self, folder, weight_map):
        (folder / "model.safetensors").unlink()
        write_index(folder, weight_map)
        refused(folder, "weight_map is missing")

    def test_a_map_that_misses_a_shard(self, folder):
        tensors = random_tensors()
        (folder / "model.safetensors").unlink()
        write_safetensors(folder / "a.safetensors", {"wte.weight": tensors["wte.weight"]})
        write_index(folder, dict.fromkeys(tensors, "a.safetensors"))
        refused(folder, "'wpe.weight' is missing")

    def test_a_tensor_in_two_shards(self, folder):
        (folder / "model.safetensors").unlink()
        for file in ("a.safetensors", "b.safetensors"):
            write_safetensors(folder / file, random_tensors())
        write_index(folder, {"wte.weight": "a.safetensors", "wpe.weight": "b.safetensors"})
        refused(folder, "is there twice")

    def test_an_index_may_not_name_a_pickle(self, folder):
        (folder / "model.safetensors").unlink()
        (folder / "pytorch_model.bin").write_bytes(b"\x80\x04N.")
        write_index(folder, {"wte.weight": "pytorch_model.bin"})
        refused(folder, "not a sound safetensors file")


def changed(path, value):
    """Return tokenizer.json's content with the value at ``path`` replaced."""
    content = tokenizer_json()
    place = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return content


class TestTokenizerFile:
    @pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff", b"{", b"null", b"[" * 100_000], ids=repr)
    def test_not_one(self, folder, content):
        (folder / "tokenizer.json").write_bytes(content)
        refused(folder, "is not a tokenizer file")

    def test_larger_than_the_model(self, folder):
        content = tokenizer_json()
        content["model"]["vocab"]["zz"] = 260
        write_tokenizer(folder, content)
        refused(folder, "tokenizer has 261 tokens, the model 260")

    def test_an_id_beyond_all_bounds(self, folder):
        content = tokenizer_json()
        content["model"]["vocab"]["zz"] = 2**32 - 1
        write_tokenizer(folder, content)
        refused(folder, "tokenizer has 4294967296 tokens, the model 260")

    def test_two_tokens_with_one_id(self, folder):
        """Which of them the id means would depend on a hash; so would the text."""
        content = tokenizer_json()
        content["model"]["vocab"]["zz"] = 7
        write_tokenizer(folder, content)
        refused(folder, "two tokens have the id 7")

    @pytest.mark.parametrize(
        "content",
        [
            changed(["decoder"], None),
            changed(["decoder"], {"type": "WordPiece", "prefix": "##", "cleanup": True}),
            changed(["decoder"], {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}),
        ],
        ids=["no decoder", "WordPiece", "Metaspace"],
    )
    def test_not_byte_level(self, folder, content):
        """Even where every token happens to be made of byte symbols, as plain English ones are."""
        write_tokenizer(folder, content)
        refused(folder, "not byte-level")

    def test_a_token_that_is_no_bytes(self, folder):
        content = tokenizer_json()
        content["model"]["vocab"]["日本"] = content["model"]["vocab"].pop("Ġa")
        content["model"]["merges"].pop()
        write_tokenizer(folder, content)
        refused(folder, "token 259 is .*not a string of byte symbols")

    def test_a_token_of_ten_thousand_characters_is_not_printed(self, folder):
        content = tokenizer_json()
        content["model"]["vocab"]["日\n" * 5000] = content["model"]["vocab"].pop("Ġa")
        content["model"]["merges"].pop()
        write_tokenizer(folder, content)
        refused(folder, "token 259")

    @pytest.mark.parametrize(
        ("vocab", "merges"),
        [("", "t h"), ("{}", "t h"), ("[]", ""), ('{"t": -1}', ""), ('{"t": 0, "h": 1}', "t h"), ('{"t": 0}', "t")],
    )
    def test_vocab_and_merges_that_do_not_fit(self, folder, vocab, merges):
        (folder / "tokenizer.json").unlink()
        (folder / "vocab.json").write_text(vocab)
        (folder / "merges.txt").write_text(merges)
        refused(folder, "not a BPE vocabulary")


class TestChecksums:
    def write_sums(self, folder, **replaced):
        import hashlib

        names = [path.name for path in sorted(folder.iterdir()) if path.name != "SHA256SUMS"]
        sums = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names} | replaced
        (folder / "SHA256SUMS").write_text("".join(f"{value}  {name}\n" for name, value in sums.items()))

    def test_a_listing_that_holds_is_fine_and_so_is_none(self, folder):
        load_model(folder, backend="numpy")
        self.write_sums(folder)
        load_model(folder, backend="numpy")

    @pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
    def test_a_changed_byte_is_refused(self, folder, name):
        self.write_sums(folder)
        content = bytearray((folder / name).read_bytes())
        if name == "model.safetensors":
            content[-4] ^= 1  # one bit of one weight
        else:
            content += b"\n"
        (folder / name).write_bytes(content)
        refused(folder, f"{name} has changed")

    def test_a_missing_file_is_refused(self, folder):
        (folder / "README.md").write_text("card")
        self.write_sums(folder)
        (folder / "README.md").unlink()
        refused(folder, "README.md cannot be read")

    @pytest.mark.parametrize(
        "line",
        ["x", "0" * 64, "0" * 64 + "  ../secret", "0" * 64 + "  /etc/passwd", "z" * 64 + "  config.json", "0" * 9999],
    )
    def test_a_listing_that_is_none(self, folder, line):
        (folder / "SHA256SUMS").write_text(line + "\n")
        refused(folder, "is not a sha256 and a file name")

    def test_a_listing_that_is_not_text(self, folder):
        (folder / "SHA256SUMS").write_bytes(b"\xff\xfe\x00")
        refused(folder, "cannot be read")

    def test_blank_lines_and_binary_marks_are_as_sha256sum_writes_them(self, folder):
        self.write_sums(folder)
        path = folder / "SHA256SUMS"
        path.write_text(path.read_text().replace("  ", " *") + "\n\n")
        load_model(folder, backend="numpy")


@pytest.mark.parametrize("card", ["", "no front matter", "---", "---\nlicense: MIT", "a---b"])
def test_a_model_card_of_any_form_is_no_obstacle(tmp_path, card):
    (tmp_path / "README.md").write_text(card)
    assert set(read_front_matter(tmp_path / "README.md")) <= {"license"}
    (tmp_path / "README.md").write_bytes(b'---\nlicense: "MIT"\nsummary: a\xff\n---\nkey: no\n')
    assert read_front_matter(tmp_path / "README.md") == {"license": "MIT", "summary": "a\ufffd"}


def test_errors_are_input_errors():
    assert issubclass(ModelFileError, InputError)
    assert json.loads("{}") == {}
