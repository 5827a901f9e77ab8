"""Stop 0 of 13: speculative decoding, all of it, without a cache and without a class.

    python -m minispec.tiny "Once upon a time"

prints each step's tokens between two bars: one forward of the large model gave them all. The engine does the same and
computes nothing twice. A test enumerates both and finds one distribution over texts. Left out here: the cache (stops 7
and 8), temperature and top-p (stop 11), randomness that has an address (stop 12), an end other than a number of tokens
(stop 6).

Next: `generation/loop.py`, where these four steps are those of the engine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Model = Callable[[Sequence[int]], NDArray[np.floating]]
"""Maps n tokens to logits of shape (n, V): row i is about the token that follows token i."""


def speculate(
    target: Model, draft: Model, prompt: Sequence[int], *, gamma: int, max_tokens: int, rng: np.random.Generator
) -> Iterator[list[int]]:
    """Yield the tokens that each step adds, at least one and at most ``gamma`` + 1, until there are ``max_tokens``.

    They are distributed exactly as the target's own (Leviathan, Kalman and Matias 2023, Algorithm 1).
    """
    tokens, end = list(prompt), len(prompt) + max_tokens
    while len(tokens) < end:
        n = len(tokens)

        # 1. Draft a few tokens with the small model, one forward each. Keep what each was drawn from.
        q = []
        for _ in range(min(gamma, end - n - 1)):
            q.append(softmax(draft(tokens)[-1]))  # (V,)
            tokens.append(int(rng.choice(len(q[-1]), p=q[-1])))

        # 2. Ask the large model about all of them in one forward: what it says of each draft's place, and of the next.
        p = softmax(target(tokens)[n - 1 :])  # (G + 1, V)

        # 3. Keep a draft x with probability p(x) / q(x); replace the first that fails by what p wants more than q.
        for i, x in enumerate(tokens[n:]):
            if not rng.random() < min(1.0, p[i, x] / q[i][x]):
                residual = np.maximum(p[i] - q[i], 0.0)  # (V,)
                tokens[n + i :] = [int(rng.choice(len(residual), p=residual / residual.sum()))]
                break

        # 4. All drafts kept: the last row of the target gives one more token for nothing.
        else:
            tokens.append(int(rng.choice(len(p[-1]), p=p[-1])))
        yield tokens[n:]


def softmax(logits: NDArray[np.floating]) -> NDArray[np.float64]:
    """Turn each row of logits, (..., V), into probabilities."""
    weights = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    probs: NDArray[np.float64] = weights / weights.sum(axis=-1, keepdims=True)
    return probs


def main(text: str) -> None:
    """Continue ``text`` with the bundled models."""
    from minispec.engine.loading import load_model

    target, draft = load_model("target-17m"), load_model("draft-1.6m")
    assert target.tokenizer is not None
    print(text, end="")
    prompt, rng = target.tokenizer.encode(text), np.random.default_rng(seed=0)
    for step in speculate(target.logits, draft.logits, prompt, gamma=5, max_tokens=64, rng=rng):
        print("|" + target.tokenizer.decode(step), end="", flush=True)
    print()


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or "Once upon a time")
