"""Small things to decode with: byte-string tokenizers and random GPT-2s, made in memory."""

from __future__ import annotations

from collections.abc import Sequence

import tokenizers
from tokenizers import decoders, models

import tests.models
from minispec.engine.model.gpt2 import GPT2
from minispec.engine.sampling import SamplingParams
from minispec.engine.tokenizer import Tokenizer

PLAIN = SamplingParams(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)
GREEDY = SamplingParams(temperature=0.0, top_k=0, top_p=1.0, min_p=0.0)


def _symbols() -> dict[int, str]:
    """GPT-2's stand-in character for each byte."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(0x100 + i) for i, byte in enumerate(others)}


def raw_tokenizer(vocabulary: Sequence[bytes], specials: Sequence[str] = ()) -> tokenizers.Tokenizer:
    """A byte-level tokenizer of the ``tokenizers`` library whose token i is ``vocabulary[i]``, specials after them."""
    symbols = _symbols()
    vocab = {"".join(symbols[byte] for byte in token): i for i, token in enumerate(vocabulary)}
    assert len(vocab) == len(vocabulary), "tokens must differ"
    backend = tokenizers.Tokenizer(models.BPE(vocab=vocab, merges=[]))
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(list(specials))
    return backend


def byte_tokenizer(vocabulary: Sequence[bytes], specials: Sequence[str] = ()) -> Tokenizer:
    return Tokenizer(raw_tokenizer(vocabulary, specials))


def random_gpt2(backend: str = "numpy", *, seed: int = 0, n_layer: int = 2, n_positions: int = 24) -> GPT2:
    """A GPT-2 of random weights, as small as can be with every slot mattering to every logit."""
    sizes = {"vocab_size": 11, "n_positions": n_positions, "n_embd": 12, "n_layer": n_layer, "n_head": 3}
    return tests.models.random_gpt2(backend, seed, **sizes)
