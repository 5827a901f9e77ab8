"""One vocabulary for all: a byte-level BPE tokenizer, trained on a slice of every training text.

Speculative decoding compares distributions token by token, so target and drafts must share it: train it once, first.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from minispec.engine.tokenizer import NUMERALS_APART
from minispec.lab.training.corpus import END_OF_TEXT, Text

#: Share of the documents of each text the tokenizer sees, chosen by a hash. Texts that fill the same pages with other
#: numbers (sums, drills) or other matters (old books) get little: the words are to be those of stories and functions.
SHARES = {
    "tinystories": 1.0,
    "storybooks": 1.0,
    "oldbooks": 0.1,
    "sums": 0.05,
    "drills": 0.0,
    "svamp": 1.0,
    "gsm8k": 0.5,
    "functions": 1.0,
    "mbpp": 1.0,
    "modules": 0.3,
}


def sample(texts: Sequence[Text]) -> Iterator[str]:
    """Yield the part of the training texts that the vocabulary is chosen from."""
    for text in texts:
        if text.split == "train":
            for document in text.documents:
                if int.from_bytes(hashlib.sha256(document.encode()).digest()[:4], "big") < SHARES[text.name] * 2**32:
                    yield document


def train_tokenizer(texts: Sequence[Text], vocab_size: int) -> Tokenizer:
    """Train a byte-level BPE tokenizer, GPT-2's but for single digits; ``<|endoftext|>`` is token 0.

    Parameters
    ----------
    texts : sequence of Text
        All texts; only training splits are read.
    vocab_size : int
        Tokens, the 256 bytes and the end of text included.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(NUMERALS_APART), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(sample(texts), trainer)
    return tokenizer


def write_tokenizer_config(folder: Path, context: int) -> None:
    """Write ``tokenizer_config.json``, which tells Hugging Face how to wrap ``tokenizer.json``."""
    config = {
        "add_prefix_space": False,
        "bos_token": END_OF_TEXT,
        "clean_up_tokenization_spaces": False,
        "eos_token": END_OF_TEXT,
        "model_max_length": context,
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": END_OF_TEXT,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")
