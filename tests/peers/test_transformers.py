"""Live comparison with Hugging Face transformers: logits, greedy text, tokenizers (dependency group ``peers``)."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from minispec.engine.loading import load_model, load_tokenizer
from tests.engine.loading.folders import byte_symbols
from tests.golden import make_goldens

torch = pytest.importorskip("torch", reason="needs the dependency group 'peers'")
transformers = pytest.importorskip("transformers", reason="needs the dependency group 'peers'")

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]  # their warnings are theirs

TOLERANCE = 1e-4  # see tests/engine/model/test_forward.py


def their_logits(model, tokens):
    with torch.no_grad():
        return model(torch.as_tensor([tokens])).logits[0].float().numpy()


def assert_close(found, expected):
    worst = np.max(np.abs(found - expected) / np.maximum(1.0, np.abs(expected)))
    assert worst <= TOLERANCE, f"off by {worst}"


def sample_fields(seed):
    """Draw every option that changes the numbers."""
    chance = random.Random(seed)
    n_head = chance.choice([1, 2, 3, 5, 7])
    n_embd = n_head * chance.choice([4, 6, 8, 11, 16])
    return {
        "vocab_size": chance.randrange(2, 300),
        "n_positions": chance.randrange(2, 70),
        "n_embd": n_embd,
        "n_layer": chance.randrange(1, 5),
        "n_head": n_head,
        "n_inner": chance.choice([None, 1, 3, 64, 65, 200]),
        "activation_function": chance.choice(["gelu_new", "gelu", "relu", "gelu_pytorch_tanh"]),
        "layer_norm_epsilon": chance.choice([1e-5, 1e-6, 1e-2]),
        "scale_attn_weights": chance.random() < 0.7,
        "scale_attn_by_inverse_layer_idx": chance.random() < 0.4,
        "reorder_and_upcast_attn": chance.random() < 0.4,
        "tie_word_embeddings": chance.random() < 0.6,
    }


@pytest.mark.parametrize("seed", range(24))
def test_logits_of_a_random_checkpoint_as_transformers_saves_it(seed, tmp_path):
    chance = random.Random(seed + 1000)
    model = make_goldens.random_model(sample_fields(seed), seed)
    dtype = chance.choice([torch.float32, torch.float32, torch.float16, torch.bfloat16])
    model.to(dtype).save_pretrained(tmp_path, max_shard_size=chance.choice(["20KB", "5GB"]))
    model = transformers.GPT2LMHeadModel.from_pretrained(tmp_path, dtype=torch.float32, attn_implementation="eager")
    tokens = np.random.default_rng(seed).integers(0, model.config.vocab_size, model.config.n_positions).tolist()
    expected = their_logits(model.eval(), tokens)
    for backend in ("numba", "numpy"):
        ours = load_model(tmp_path, backend=backend)
        assert_close(ours.logits(tokens), expected)
        assert ours.num_parameters == sum(p.numel() for p in model.parameters())


def test_goldens_are_what_the_script_makes(tmp_path, capsys):
    """The committed files are the script's, byte for byte; logits up to the rounding of another version or machine."""
    make_goldens.main(tmp_path)
    for path in sorted(tmp_path.glob("*/*")):
        committed = make_goldens.FOLDER / path.relative_to(tmp_path)
        if path.name == "logits.npz":
            found, expected = np.load(path), np.load(committed)
            assert found["tokens"].tolist() == expected["tokens"].tolist()
            np.testing.assert_allclose(found["logits"], expected["logits"], rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(found["halves"], expected["halves"], rtol=1e-2, atol=1e-2)  # ties, see there
        else:
            assert path.read_bytes() == committed.read_bytes(), path


class TestGreedyText:
    def test_tokens_equal_those_of_generate(self, tmp_path):
        """Token for token. Both argmaxes see logits that differ by rounding, so a smaller margin than that proves
        nothing: the test first shows that no margin on the way is small."""
        fields = {"vocab_size": 97, "n_positions": 96, "n_embd": 32, "n_layer": 2, "n_head": 4}
        model = make_goldens.random_model(fields, seed=3)
        model.save_pretrained(tmp_path)
        ours, compared = load_model(tmp_path), 0
        for seed in range(8):
            prompt = np.random.default_rng(seed).integers(1, 97, 5).tolist()
            with torch.no_grad():
                theirs = model.generate(
                    torch.as_tensor([prompt]), max_new_tokens=80, do_sample=False, eos_token_id=None, pad_token_id=0
                )[0].tolist()
            two_largest = np.sort(their_logits(model, theirs)[len(prompt) - 1 : -1], axis=1)[:, -2:]
            if np.min(two_largest[:, 1] - two_largest[:, 0]) < 1e-3:
                continue
            session, tokens = ours.session(), list(prompt)
            while len(tokens) < len(theirs):
                tokens.append(int(session.score(tokens[session.length :], num_logits=1).argmax()))
            assert tokens == theirs
            compared += 1
        assert compared >= 4


TEXT = """Once upon a time there was a hen, and she didn't know that she'd lay 12345 eggs. "Größe!" said the fox;
    indented\tcode = [1, 2, 3]\n\n\n日本語のテキスト 🙂👩‍👩‍👧 naïve café \u00a0\u200b end…  <|endoftext|>after"""

TEXTS = (
    "", " ", "\n", "  two  spaces ", "don't we'll I'M", "<|endoftext|>", "a<|endoftext|><|endoftext|> b", "<|endofte",
    "\x00\x01\x7f", "é e\u0301", "🙂", "👩‍👩‍👧", "日本", "\u202eabc", "1234567890", "\t\tx\r\n", "ﬁ ½ Ⅷ",
    TEXT, TEXT * 3,
)  # fmt: skip


@pytest.fixture
def tokenizer_folder(tmp_path):
    """A byte-level BPE trained on a paragraph, written in both forms."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<|endoftext|>"], initial_alphabet=byte_symbols(), show_progress=False
    )
    tokenizer.train_from_iterator([TEXT.replace("<|endoftext|>", "")] * 3, trainer)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    tokenizer.model.save(str(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    return tmp_path


@pytest.mark.parametrize("form", ["tokenizer.json", "vocab.json and merges.txt"])
def test_token_ids_and_text_equal_those_of_their_gpt2_tokenizer(tokenizer_folder, form):
    if form == "tokenizer.json":
        (tokenizer_folder / "vocab.json").unlink()
        (tokenizer_folder / "merges.txt").unlink()
    else:
        (tokenizer_folder / "tokenizer.json").unlink()
    theirs = transformers.GPT2TokenizerFast.from_pretrained(tokenizer_folder)
    ours = load_tokenizer(tokenizer_folder)
    assert ours.vocab_size == len(theirs)
    for text in TEXTS:
        ids = theirs(text)["input_ids"]
        assert ours.encode(text) == ids, text
        decoded = theirs.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        assert ours.decode(ids) == decoded
    generator = np.random.default_rng(0)
    for _ in range(200):  # any ids, also such as cut characters in two
        ids = generator.integers(0, ours.vocab_size, generator.integers(1, 12)).tolist()
        expected = theirs.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        assert ours.decode(ids) == expected


PUBLISHED = {
    "gpt2": ({"n_layer": 12}, {"prefix": False, "buffers": True}),
    "distilgpt2": ({"n_layer": 6}, {"prefix": True, "head": True, "buffers": True}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_names_and_shapes_at_full_size(name, tmp_path):
    """gpt2 and distilgpt2 as they are published, but with random weights: half a gigabyte each."""
    from safetensors import safe_open

    fields, form = PUBLISHED[name]
    config = transformers.GPT2Config(**fields)
    assert (config.vocab_size, config.n_positions, config.n_embd) == (50257, 1024, 768)
    torch.manual_seed(0)
    model = transformers.GPT2LMHeadModel(config).eval()
    make_goldens.publish(tmp_path, model, seed=0, num_tokens=40, **form)
    with safe_open(tmp_path / "model.safetensors", "np") as file:
        stored = set(file.keys())
    expected = ["transformer.wte.weight", "transformer.h.5.attn.bias", "lm_head.weight"]
    assert stored >= (set(expected) if form["prefix"] else {"wte.weight", "h.11.attn.bias", "h.11.mlp.c_proj.bias"})
    golden = np.load(tmp_path / "logits.npz")
    ours = load_model(tmp_path)
    assert ours.num_parameters == model.num_parameters()
    assert_close(ours.logits(golden["tokens"].tolist()), golden["logits"])
