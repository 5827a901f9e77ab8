"""Laws of the exported folder: Hugging Face reads it and agrees, and the checksums tell a change."""
# ruff: noqa: E402 - PyTorch is optional: skip before importing what needs it

from __future__ import annotations

import hashlib
import json

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file

from minispec.errors import OptionError
from minispec.lab.training.export import export_model, hugging_face_tensors, load_exported
from minispec.lab.training.model import GPT2
from minispec.lab.training.recipe import DRAFT, SHAPES
from tests.lab.training.toys import toy_preset


@pytest.fixture(scope="module")
def model() -> GPT2:
    torch.manual_seed(0)
    model = GPT2(toy_preset().shapes[DRAFT])
    with torch.no_grad():  # away from the initial zeros and ones, so that a lost bias would show
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


@pytest.fixture
def folder(model, packed_folder, tmp_path):
    export_model(model, packed_folder / "tokenizer.json", tmp_path / "toy")
    return tmp_path / "toy"


def rounded(model: GPT2) -> GPT2:
    copy = GPT2(model.shape)
    copy.load_state_dict({key: value.half().float() for key, value in model.state_dict().items()})
    return copy


def test_names_and_shapes_are_hugging_faces(folder):
    tensors = load_file(folder / "model.safetensors")
    assert tensors["transformer.h.0.attn.c_attn.weight"].shape == (16, 48)  # (in, out)
    assert tensors["transformer.wpe.weight"].shape == (256, 16)
    assert "lm_head.weight" not in tensors
    assert {tensor.dtype for tensor in tensors.values()} == {torch.float16}


@pytest.mark.filterwarnings("ignore")  # other people's deprecations
def test_transformers_loads_it_and_agrees(folder, model):
    transformers = pytest.importorskip("transformers")
    theirs, loading = transformers.GPT2LMHeadModel.from_pretrained(
        folder, dtype=torch.float32, output_loading_info=True
    )
    assert not loading["missing_keys"]
    assert not loading["unexpected_keys"]
    tokens = torch.randint(0, model.shape.vocab_size, (2, 64), generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        ours, other = rounded(model)(tokens), theirs.eval()(tokens).logits
        torch.testing.assert_close(other, ours, atol=1e-4, rtol=1e-4)  # float32 sums in another order
        assert (model(tokens) - ours).abs().max() > 2e-4  # the control: rounding to float16 alone is seen


@pytest.mark.filterwarnings("ignore")
def test_transformers_reads_the_tokenizer(folder):
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    text = "The fox runs to the wood.\n    return 1"
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text
    assert tokenizer.eos_token_id == 0
    assert tokenizer.model_max_length == 256


def test_reading_back_gives_the_rounded_weights(folder, model):
    back = load_exported(folder)
    assert back.shape == model.shape
    for key, value in rounded(model).state_dict().items():
        assert torch.equal(back.state_dict()[key], value)


def test_checksums_hold_and_tell_a_changed_byte(folder):
    listed = dict(reversed(line.split("  ")) for line in (folder / "SHA256SUMS").read_text().splitlines())
    assert set(listed) == {path.name for path in folder.iterdir()} - {"SHA256SUMS"}
    for name, digest in listed.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    assert hashlib.sha256(weights).hexdigest() != listed["model.safetensors"]


def test_shards_together_are_the_model(model, packed_folder, tmp_path):
    export_model(model, packed_folder / "tokenizer.json", tmp_path, max_shard_mb=0.012)
    shards = sorted(tmp_path.glob("model-*.safetensors"))
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    assert len(shards) > 1
    assert not (tmp_path / "model.safetensors").exists()
    found = {}
    for shard in shards:
        tensors = load_file(shard)
        assert sum(tensor.nbytes for tensor in tensors.values()) <= 12_000
        assert all(index["weight_map"][key] == shard.name for key in tensors)
        found |= tensors
    expected = hugging_face_tensors(model)
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[key], expected[key]) for key in expected)
    assert load_exported(tmp_path).num_parameters == model.num_parameters


def test_a_shard_smaller_than_a_tensor_is_refused(model, packed_folder, tmp_path):
    with pytest.raises(OptionError, match=r"--max-shard-mb 0.001 is too small"):
        export_model(model, packed_folder / "tokenizer.json", tmp_path, max_shard_mb=0.001)


def test_the_bundled_shapes_fit_the_budget():
    with torch.device("meta"):
        sizes = {name: 2 * GPT2(shape).num_parameters for name, shape in SHAPES.items()}
    assert sum(sizes.values()) < 42e6 - 1e5  # 0.1 MB for the headers of the files
    assert sizes["target-17m"] > 32e6  # larger than the third-level cache of the machines we know
