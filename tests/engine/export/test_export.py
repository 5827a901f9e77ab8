"""Exports: a folder as a whole or not at all, in which the models are what they were."""

from __future__ import annotations

import ast
import json
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
import tokenizers
from hypothesis import example, given
from hypothesis import strategies as st

from minispec.engine.export import FORMS, export_pair
from minispec.engine.export.gguf import encodes_as_gpt2
from minispec.engine.loading import load_model
from minispec.engine.tokenizer import NUMERALS_APART, Tokenizer
from minispec.errors import InputError, MissingDependencyError, ModelFileError, OutputError, VocabularyError
from tests.cli.conftest import Run, run_here  # noqa: F401  # a fixture
from tests.cli.test_bad_input import EMPTY_TOKENIZER
from tests.engine.loading.forms import NAMED, begins_with, own, prefixed, write_form
from tests.tiny import byte_tokenizer, write_model

TOKENS = [1, 2, 3, 255, 256]


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    return (
        str(write_model(tmp_path / "target", seed=1, scale=0.3)),
        str(write_model(tmp_path / "draft", seed=2, n_embd=8, n_layer=1, scale=0.3)),
    )


@pytest.mark.parametrize("form", ["hf", "vllm"])
def test_the_models_of_a_folder_are_those_that_were_exported(pair: tuple[str, str], tmp_path: Path, form: str) -> None:
    out = tmp_path / "a folder's name"
    lines = export_pair(*pair, form, out, gamma=4)
    assert lines.count("\n") == 3
    for name, role in zip(pair, ("target", "draft"), strict=True):
        before, after = (load_model(place, backend="numpy") for place in (name, out / role))
        np.testing.assert_array_equal(before.logits(TOKENS), after.logits(TOKENS))
        assert json.loads((out / role / "config.json").read_text())["architectures"] == ["GPT2LMHeadModel"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a folder's name", "draft", "target"]
    if form == "hf":
        ast.parse(lines)
        assert "assistant_model=draft, num_assistant_tokens=4" in lines
        assert (out / "run.py").read_text() == lines
    else:
        serve = shlex.split(lines.splitlines()[1])
        config = json.loads(serve[serve.index("--speculative-config") + 1])
        assert config == {"method": "draft_model", "model": str(out / "draft"), "num_speculative_tokens": 4}
        assert serve[2] == str(out / "target")


def test_a_target_alone(pair: tuple[str, str], tmp_path: Path) -> None:
    for form in ("hf", "vllm"):
        lines = export_pair(pair[0], None, form, tmp_path / form, gamma=5)
        assert "draft" not in lines.splitlines()[1]
        assert not (tmp_path / form / "draft").exists()


def test_a_vocabulary_in_two_files_becomes_one_that_transformers_finds(pair: tuple[str, str], tmp_path: Path) -> None:
    folder = Path(pair[0])
    described = json.loads((folder / "tokenizer.json").read_text())
    vocab = described["model"]["vocab"] | {"<|endoftext|>": len(described["model"]["vocab"])}
    (folder / "vocab.json").write_text(json.dumps(vocab), encoding="utf-8")
    merges = [" ".join(merge) for merge in described["model"]["merges"]]
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges]) + "\n", encoding="utf-8")
    (folder / "tokenizer.json").unlink()
    export_pair(pair[0], None, "hf", tmp_path / "out", gamma=5)
    again = load_model(tmp_path / "out" / "target", backend="numpy").tokenizer
    assert again is not None
    assert again.encode("the then") == load_model(pair[0], backend="numpy").tokenizer.encode("the then")  # type: ignore[union-attr]


def test_a_gguf_file_holds_weights_shape_and_vocabulary(pair: tuple[str, str], tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf", reason="needs the extra 'export'")
    lines = export_pair(*pair, "gguf", tmp_path / "out", gamma=5)
    assert "-md" in lines
    assert (tmp_path / "out" / "Modelfile").read_text().startswith("FROM ./target.gguf\n")
    reader = gguf.GGUFReader(tmp_path / "out" / "target.gguf")
    model = load_model(pair[0], backend="numpy")
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    assert len(tensors) == 5 + 12 * model.config.n_layer
    qkv = tensors["blk.1.attn_qkv.weight"]
    assert list(qkv.shape) == [model.config.n_embd, 3 * model.config.n_embd]  # fastest first: their rows, our columns
    words = reader.get_field("tokenizer.ggml.tokens").contents()
    assert len(words) == model.vocab_size
    assert words[-1] == "<|endoftext|>"
    assert reader.get_field("tokenizer.ggml.merges").contents() == ["t h", "th e"]
    assert reader.get_field("tokenizer.ggml.eos_token_id").contents() == model.vocab_size - 1
    assert reader.get_field("gpt2.context_length").contents() == model.n_positions


def with_gpt2_cuts(tokenizer: Tokenizer) -> tokenizers.Tokenizer:
    """The same vocabulary and merges; text is cut as GPT-2 does, and so does llama.cpp."""
    described = json.loads(tokenizer.to_json())
    described["pre_tokenizer"] = {
        "type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True
    }  # fmt: skip
    return tokenizers.Tokenizer.from_str(json.dumps(described))


@given(st.text(st.sampled_from("ab '\n.\t") | st.characters(categories=["N", "L", "P", "Z"]), max_size=40))
@example("12 + 345 = 357, 1/2 of 10²³ is ٣٤ x٣4")
def test_the_bundled_tokenizers_encode_as_if_text_were_cut_as_gpt2_does(text: str) -> None:
    """So llama.cpp, which has no name for their own way of cutting, encodes prompts alike."""
    tokenizer = load_model("draft-1.6m").tokenizer
    assert tokenizer is not None
    assert with_gpt2_cuts(tokenizer).encode(text, add_special_tokens=False).ids == tokenizer.encode(text)


def test_numerals_that_a_merge_joins_are_not_cut_as_gpt2_does() -> None:
    apart = {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": NUMERALS_APART}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
        ],
    }
    assert encodes_as_gpt2(apart, [["t", "h"], ["Ġ", "1"], ["1", "a"], ["Â", "²"]])
    for joined in (["1", "2"], ["Ġ1", "2"], ["²", "Â"], ["1", "Â²"]):
        assert not encodes_as_gpt2(apart, [["t", "h"], joined])
    for changed in (
        {"behavior": "Removed"},
        {"invert": True},
        {"pattern": {"Regex": "."}},
        {"pattern": {"String": " "}},
    ):
        other = [{**apart["pretokenizers"][0], **changed}, apart["pretokenizers"][1]]
        assert not encodes_as_gpt2({"type": "Sequence", "pretokenizers": other}, [])
    assert not encodes_as_gpt2({"type": "Sequence", "pretokenizers": apart["pretokenizers"][:1]}, [])
    assert not encodes_as_gpt2({"type": "Whitespace"}, [])


@pytest.mark.parametrize(
    ("field", "value"),
    [("activation_function", "relu"), ("scale_attn_weights", False), ("scale_attn_by_inverse_layer_idx", True)],
)
def test_what_llama_cpp_would_compute_otherwise_is_refused(
    pair: tuple[str, str], tmp_path: Path, field: str, value: object
) -> None:
    pytest.importorskip("gguf", reason="needs the extra 'export'")
    config = Path(pair[0]) / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {field: value}))
    with pytest.raises(ModelFileError, match=field):
        export_pair(*pair, "gguf", tmp_path / "out", gamma=5)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["draft", "target"]
    export_pair(*pair, "hf", tmp_path / "out", gamma=5)


def test_without_gguf_the_error_names_the_extra(
    pair: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(MissingDependencyError, match=r"pip install '\.\[export\]'"):
        export_pair(*pair, "gguf", tmp_path / "out", gamma=5)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["draft", "target"]


def test_nothing_half_written(pair: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = str(write_model(tmp_path / "other", tokenizer=byte_tokenizer((("o", "n"),))))
    cases: list[tuple[tuple[str, str], Path, type[InputError]]] = [
        ((pair[0], other), tmp_path / "out", VocabularyError),
        ((pair[0], str(tmp_path / "nowhere" / "at" / "all")), tmp_path / "out", InputError),
        (pair, tmp_path / "nowhere" / "out", OutputError),
        (pair, tmp_path / "other", OutputError),
    ]
    mute = write_model(tmp_path / "mute", seed=3)
    (mute / "tokenizer.json").write_text(EMPTY_TOKENIZER, encoding="utf-8")
    cases.append(((str(mute), pair[1]), tmp_path / "out", ModelFileError))
    before = sorted(tmp_path.rglob("*"))
    for models, folder, error in cases:
        with pytest.raises(error) as caught:
            export_pair(*models, "hf", folder, gamma=5)
        assert "\n" not in str(caught.value)
        assert sorted(tmp_path.rglob("*")) == before

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("minispec.engine.export.pair.shutil.copyfile", full)
    with pytest.raises(OutputError, match="No space left"):
        export_pair(*pair, "hf", tmp_path / "out", gamma=5)
    assert sorted(tmp_path.rglob("*")) == before


def test_the_command_prints_the_lines(run_here: Run, pair: tuple[str, str], tmp_path: Path) -> None:  # noqa: F811
    for form in set(FORMS) - {"gguf"}:
        done = run_here("export", pair[0], "--draft", pair[1], "--to", form, "-o", form)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("\n") == 3
    for arguments, complaint in (
        (("--draft", "ngram", "--to", "hf", "-o", "x"), "what can be exported is a model"),
        (("--draft", "draft-1.6m:words=3072", "--to", "hf", "-o", "x"), "what can be exported is a model"),
        (("--to", "onnx", "-o", "x"), "--to is 'onnx'; it must be one of hf, gguf, vllm. Try --to hf"),
        (("--to", "hf", "-o", ""), "names no file"),
    ):
        done = run_here("export", pair[0], *arguments)
        assert done.returncode == 2
        assert complaint in done.stderr
        assert done.stderr.count("\n") == 1


def test_ends_and_a_token_in_front_of_a_prompt_come_along(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf", reason="needs the extra `export`")
    tokenizer = own(post_processor=begins_with("x", ""))
    form = {"config": {"eos_token_id": 146}, "tokenizer": tokenizer, "tokenizer_config": NAMED}
    folder = write_form(tmp_path / "model", **form)
    for kind in ("hf", "gguf"):
        export_pair(str(folder), None, kind, tmp_path / kind, gamma=3)
    assert load_model(folder, backend="numpy").eos_token_id == {146, 256}
    told = json.loads((tmp_path / "hf" / "target" / "generation_config.json").read_text())
    assert told["eos_token_id"] == [146, 256]
    reader = gguf.GGUFReader(tmp_path / "gguf" / "target.gguf")
    keys = ("eos_token_id", "eot_token_id", "bos_token_id", "add_bos_token", "add_eos_token")
    assert [reader.get_field(f"tokenizer.ggml.{key}").contents() for key in keys] == [146, 256, 256, True, False]


def test_names_that_only_minispec_strips_are_not_passed_on(tmp_path: Path) -> None:
    folder = write_form(tmp_path / "model", tensors=prefixed("module.transformer."))
    with pytest.raises(ModelFileError, match="names of torch"):
        export_pair(str(folder), None, "hf", tmp_path / "out", gamma=3)
    assert not (tmp_path / "out").exists()
