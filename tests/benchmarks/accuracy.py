"""How far a number format moves the logits of a trained model, and how often the most likely token is another."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from minispec.model import GPT2

PROMPT = "Once upon a time there was a small village by the sea"


def print_accuracy(exact: GPT2, others: Mapping[str, GPT2], num_tokens: int) -> None:
    """Feed every model the tokens that the exact one chooses greedily, and compare its logits with those."""
    tokens = list(exact.tokenizer.encode(PROMPT)) if exact.tokenizer else [0]
    first = len(tokens) - 1
    session = exact.session()
    session.prefill(tokens[:-1])
    while len(tokens) < first + num_tokens:
        tokens.append(int(np.argmax(session.score(tokens[-1:])[-1])))
    expected = exact.logits(tokens)[first:]
    print(f"{exact.name}, {num_tokens} greedy tokens, against float32")
    print(f"{'':16}{'error / largest logit':>24}{'same token':>12}")
    for name, model in others.items():
        found = model.logits(tokens)[first:]
        error = np.abs(found - expected).max() / np.abs(expected).max()
        print(f"{name:16}{error:24.2e}{np.mean(found.argmax(-1) == expected.argmax(-1)):12.3f}")
