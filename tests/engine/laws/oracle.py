"""A second, slow writing of every processor, so that the law suite does not take the engine's own word for them.

:func:`slow_row` follows the sentences in which the processors are defined, one token at a time in plain Python, and
:func:`slow_law` walks every text. Nothing here calls :mod:`minispec.engine.sampling` beyond reading the parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from minispec.engine.generation.stopping import Limits
from minispec.engine.laws.outcomes import Outcome, Table, ending
from minispec.engine.model.language_model import LanguageModel
from minispec.engine.sampling import SamplingParams
from minispec.engine.tokenizer import Tokenizer

Allowed = Callable[[tuple[int, ...]], Collection[int]]
"""Which tokens a constraint lets follow the generated ones."""


def slow_logits(model: LanguageModel, prefix: Sequence[int]) -> NDArray[np.float32]:
    """Return the model's logits after ``prefix``, shape (V,), from scratch and without a session.

    A table's row becomes float32 logits, as in its forward: that rounding is the model's, not the engine's.
    """
    if hasattr(model, "next_probs"):
        table: Table = model  # type: ignore[assignment]
        with np.errstate(divide="ignore"):
            return np.log(table.next_probs(prefix)).astype(np.float32)
    row: NDArray[np.float32] = model.forward(prefix, model.new_cache(capacity=len(prefix)), 1)[0]
    return row


def slow_row(
    logits: Sequence[float] | NDArray[np.float32],
    params: SamplingParams,
    generated: Sequence[int],
    prompt: Sequence[int] = (),
    eos_token_id: Collection[int] = (),
    allowed: Collection[int] | None = None,
) -> list[float]:
    """Return what the next token is drawn from, processor by processor.

    Examples
    --------
    >>> slow_row([0.0, 0.0], SamplingParams(1.0, top_p=1.0), [])
    [0.5, 0.5]
    """
    row = [float(logit) for logit in logits]
    tokens = range(len(row))
    for token in tokens:
        if token in prompt or token in generated:
            row[token] *= 1.0 / params.repetition_penalty if row[token] > 0.0 else params.repetition_penalty
        count = list(generated).count(token)
        if count:
            row[token] -= params.presence_penalty + params.frequency_penalty * count
    possible = {token for token in tokens if row[token] > -math.inf}
    if allowed is not None:
        possible &= set(allowed)
    if len(generated) < params.min_tokens and not (allowed is not None and possible <= set(eos_token_id)):
        possible -= set(eos_token_id)
    by_rank = sorted(possible, key=lambda token: (-row[token], token))
    if params.temperature == 0.0:
        return [float(token == by_rank[0]) for token in tokens]
    best = row[by_rank[0]]
    probs = _normalise({token: math.exp((row[token] - best) / params.temperature) for token in by_rank})
    if params.top_k:
        probs = _normalise({token: probs[token] for token in by_rank[: params.top_k]})
    nucleus: dict[int, float] = {}
    for token, prob in probs.items():  # the likeliest first
        if params.top_p < 1.0 and math.fsum(nucleus.values()) >= params.top_p:
            break
        nucleus[token] = prob
    probs = _normalise(nucleus)
    largest = max(probs.values())
    probs = _normalise({token: prob for token, prob in probs.items() if prob >= params.min_p * largest})
    return [probs.get(token, 0.0) for token in tokens]


def _normalise(weights: dict[int, float]) -> dict[int, float]:
    total = math.fsum(weights.values())
    return {token: weight / total for token, weight in weights.items()}


def slow_law(
    model: LanguageModel,
    params: SamplingParams,
    prompt: Sequence[int],
    limits: Limits,
    tokenizer: Tokenizer | None = None,
    allowed: Allowed | None = None,
) -> dict[Outcome, float]:
    """Return the exact law of plain decoding under any processors, penalties, minimum length and constraint.

    Parameters
    ----------
    model : LanguageModel
    params : SamplingParams
    prompt : sequence of int
    limits : Limits
    tokenizer : Tokenizer or None
    allowed : callable, optional
        The constraint, say of :func:`finite_language`.
    """
    law: dict[Outcome, float] = {}

    def walk(tokens: tuple[int, ...], prob: float) -> None:
        end = ending(tokens, limits, len(prompt), tokenizer)
        if end is not None:
            law[end] = law.get(end, 0.0) + prob
            return
        mask = None if allowed is None else allowed(tokens)
        logits = slow_logits(model, [*prompt, *tokens])
        for token, next_prob in enumerate(slow_row(logits, params, tokens, prompt, limits.eos_token_id, mask)):
            if next_prob > 0.0:
                walk((*tokens, token), prob * next_prob)

    walk((), 1.0)
    return law


def finite_language(texts: Iterable[bytes], tokenizer: Tokenizer, eos_token_id: int, vocab_size: int) -> Allowed:
    """Return the constraint "the text is one of these": a token may follow iff some member goes on that way."""
    members = set(texts)
    beginnings = {text[:end] for text in members for end in range(len(text) + 1)}

    def allow(generated: tuple[int, ...]) -> set[int]:
        text = b"".join(map(tokenizer.token_bytes, generated))
        longer = {
            token
            for token in range(vocab_size)
            if tokenizer.token_bytes(token) and text + tokenizer.token_bytes(token) in beginnings
        }
        return longer | ({eos_token_id} if text in members else set())

    return allow
