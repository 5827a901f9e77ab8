"""One vocabulary for all: a byte-level BPE tokenizer, trained on a slice of every training text.

Speculative decoding compares distributions token by token, so target and drafts must share it: train it once, first.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from minispec.training.corpus import END_OF_TEXT, Text

#: Share of every document (stories, novels) or of all files (code) the tokenizer sees; enough to choose 8192 tokens.
SHARES = {"stories": 0.25, "novels": 0.0, "questions": 1.0, "code": 0.6}


def sample(texts: Sequence[Text]) -> Iterator[str]:
    """Yield the part of the training texts that the vocabulary is chosen from."""
    for text in texts:
        share = SHARES[text.domain]
        if text.split != "train" or share == 0.0:
            continue
        for document in text.documents:
            if text.domain == "code":  # a file whole or not at all, so that imports and bodies are both seen
                if int.from_bytes(hashlib.sha256(document.encode()).digest()[:4], "big") < share * 2**32:
                    yield document
            else:
                yield document[: max(1, int(share * len(document)))]


def train_tokenizer(texts: Sequence[Text], vocab_size: int) -> Tokenizer:
    """Train a GPT-2-style byte-level BPE tokenizer; ``<|endoftext|>`` is token 0.

    Parameters
    ----------
    texts : sequence of Text
        All texts; only training splits are read.
    vocab_size : int
        Tokens, the 256 bytes and the end of text included.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
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
