"""Wrong loading: another model than the folder holds."""

from __future__ import annotations

from minispec.engine.loading import bundled, folder
from minispec.engine.loading.checkpoint import Checkpoint
from minispec.engine.loading.safetensors_file import SafetensorsFile
from minispec.engine.model import config, forward
from minispec.engine.model.config import GPT2Config
from minispec.engine.model.weights import Packing

from .tools import change

change(
    12, "folders", "every head is tied", "The head of an untied model is its token embedding.",
    folder, "build_weights", "wte if config.tie_word_embeddings else", "wte if True else",
)  # fmt: skip
change(
    12, "folders", "both norms are the first", "The norm before the MLP is the one before attention.",
    Packing, "block", 'ln_2=self.norm(f"h.{i}.ln_2")', 'ln_2=self.norm(f"h.{i}.ln_1")',
)  # fmt: skip
change(
    12, "folders", "epsilon is the usual one", "The config's layer_norm_epsilon is not read.",
    GPT2Config, "from_dict", "layer_norm_epsilon=float(epsilon)", "layer_norm_epsilon=1e-5",
)  # fmt: skip
change(
    12, "folders", "every activation is smooth", "relu is computed as gelu_new.",
    GPT2Config, "from_dict", "ACTIVATIONS[activation]",
    'ACTIVATIONS["gelu_new" if activation == "relu" else activation]',
)  # fmt: skip
change(
    12, "folders", "deep layers are not tamed", "scale_attn_by_inverse_layer_idx is not read.",
    GPT2Config, "from_dict", '_read_flag(fields, "scale_attn_by_inverse_layer_idx", False, name)', "False",
)  # fmt: skip
change(
    12, "folders", "scores are always scaled", "scale_attn_weights is not read.",
    GPT2Config, "attention_scale", "if self.scale_attn_weights else 1.0", "if True else 1.0",
)  # fmt: skip
change(
    12, "folders", "layers count from zero", "Scores of layer i are divided by i, the first one's by 1.",
    GPT2Config, "attention_scale", "(layer + 1)", "max(1, layer)",
)  # fmt: skip
change(
    12, "folders", "a text has one end", "Of several end-of-text tokens only the first counts.",
    config, "read_eos", "for token in ids if token < vocab_size", "for token in ids[:1] if token < vocab_size",
)  # fmt: skip
change(
    12, "folders", "an end outside the vocabulary", "Ids that the model cannot emit are kept.",
    config, "read_eos", "for token in ids if token < vocab_size", "for token in ids",
)  # fmt: skip
change(
    12, "folders", "sixteen bits are sixteen bits", "bfloat16 is read as float16.",
    SafetensorsFile, "read", "(raw.astype(np.uint32) << 16).view(np.float32)",
    "raw.view(np.float16).astype(np.float32)",
)  # fmt: skip
change(
    12, "folders", "the format of some", "Matrices stored in several formats are all kept in one of them.",
    Checkpoint, "stored_dtype", 'if len(found) == 1 else "float32"', 'if found else "float32"',
)  # fmt: skip
change(
    12, "folders", "the final norm is left out", "The head reads the last layer's output.",
    forward, "compute", ", norm=weights.ln_f", "",
)  # fmt: skip
change(
    12, "folders", "the MLP replaces what it reads", "Its sum with its input is left out.",
    forward, "layers", "x = linear(hidden, block.mlp.c_proj, residual=x)", "x = linear(hidden, block.mlp.c_proj)",
)  # fmt: skip
change(
    12, "checksums", "one file is enough", "Only the first file of a listing is compared.",
    bundled, "verify_checksums", "filter(None, lines)", "lines[:1]",
)  # fmt: skip
change(
    12, "checksums", "a listing is read and not compared", "Whatever a file holds is what it should.",
    bundled, "verify_checksums", "if found != expected:", "if not found:",
)  # fmt: skip
