"""What the engine's output law must be, computed the slow and obvious way, without any of the engine's code.

``target_law`` walks a model's table token by token; ``ending`` says where a token sequence ends by looking at its
text one character at a time. Both are for models and texts small enough to enumerate.
"""

from __future__ import annotations

import codecs
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from minispec.engine.control import FixedGamma
from minispec.engine.drafters import Drafter, ModelDrafter
from minispec.engine.generation import Generation, Stream
from minispec.engine.generation.stopping import Limits
from minispec.engine.model.language_model import LanguageModel
from minispec.engine.model.session import Session
from minispec.engine.model.tree_session import TreeSession
from minispec.engine.noise import Noise
from minispec.engine.records import FinishReason
from minispec.engine.sampling import Sampler, SamplingParams, distribution
from minispec.engine.tokenizer import Tokenizer
from minispec.engine.verifiers import Verifier, Verify, rejection

Key = TypeVar("Key", bound=Hashable)


class Outcome(NamedTuple):
    """What a generation comes to, in the eyes of a reader."""

    token_ids: tuple[int, ...]
    text: str
    finish_reason: FinishReason
    stop: str | None = None


class Table(Protocol):
    """A model whose law can be asked for directly."""

    def next_probs(self, prefix: Sequence[int]) -> NDArray[np.float64]:
        """Return the law of the token after ``prefix``."""
        ...


def total_variation(a: Mapping[Key, float], b: Mapping[Key, float]) -> float:
    """Half the L1 distance of two laws: the largest difference of the probability of any event."""
    return 0.5 * sum(abs(a.get(key, 0.0) - b.get(key, 0.0)) for key in {*a, *b})


def ending(
    tokens: Sequence[int], limits: Limits, num_prompt_tokens: int, tokenizer: Tokenizer | None = None
) -> Outcome | None:
    """Return what a generation that emits ``tokens`` comes to, or None if it would go on.

    The rules, per token: an end-of-sequence token ends the text and is not part of it; then, character by character,
    the first character that completes a stop string does (the longest, if several; none within ``min_tokens``), and
    the text ends before the stop; then the token budget; then the context.
    """
    if not tokens and limits.max_tokens == 0:
        return Outcome((), "", "length")
    for n in range(1, len(tokens) + 1):
        ids = tuple(tokens[:n])
        if ids[-1] in limits.eos_token_id:
            return Outcome(ids, _text(ids[:-1], tokenizer, final=True), "eos")
        before, text = _text(ids[:-1], tokenizer), _text(ids, tokenizer)
        for end in range(len(before) + 1, len(text) + 1):
            complete = [stop for stop in limits.stop if n > limits.min_tokens and text[:end].endswith(stop)]
            if complete:
                stop = max(complete, key=len)
                begin = end - len(stop)
                return Outcome(ids[: n - _begins_at(ids, begin, tokenizer)], text[:begin], "stop", stop)
        if n == limits.max_tokens:
            return Outcome(ids, _text(ids, tokenizer, final=True), "length")
        if num_prompt_tokens + n == limits.n_positions:
            return Outcome(ids, _text(ids, tokenizer, final=True), "context")
    return None


def _text(tokens: Sequence[int], tokenizer: Tokenizer | None, *, final: bool = False) -> str:
    """Decode; an unfinished character at the end is left out, or becomes U+FFFD if ``final``."""
    if tokenizer is None:
        return ""
    content = b"".join(map(tokenizer.token_bytes, tokens))
    return codecs.getincrementaldecoder("utf-8")("replace").decode(content, final)


def _begins_at(tokens: Sequence[int], begin: int, tokenizer: Tokenizer | None) -> bool:
    """Whether character ``begin`` of the text is where the last token's bytes begin."""
    before, own = _text(tokens[:-1], tokenizer, final=True), _text(tokens[-1:], tokenizer)
    return begin == len(before) and before + own == _text(tokens, tokenizer)


def target_law(
    model: LanguageModel,
    params: SamplingParams,
    prompt: Sequence[int],
    limits: Limits,
    tokenizer: Tokenizer | None = None,
) -> dict[Outcome, float]:
    """Return the exact law of plain decoding, read off the model's table.

    Parameters
    ----------
    model : LanguageModel
        With a ``next_probs(prefix)`` like :class:`minispec.engine.model.toy.TableModel`.
    """
    law: dict[Outcome, float] = {}

    def walk(tokens: tuple[int, ...], prob: float) -> None:
        end = ending(tokens, limits, len(prompt), tokenizer)
        if end is not None:
            law[end] = law.get(end, 0.0) + prob
            return
        for token, next_prob in enumerate(next_distribution(model, params, [*prompt, *tokens])):
            if next_prob > 0.0:
                walk((*tokens, token), prob * float(next_prob))

    walk((), 1.0)
    return law


def next_distribution(model: LanguageModel, params: SamplingParams, prefix: Sequence[int]) -> NDArray[np.float64]:
    """Return what the token after ``prefix`` is drawn from, shape (V,).

    The table's row becomes float32 logits first, as in the model's forward: that rounding is the model's, not the
    engine's.
    """
    table: Table = model  # type: ignore[assignment]
    with np.errstate(divide="ignore"):
        logits = np.log(table.next_probs(prefix)).astype(np.float32)
    row: NDArray[np.float64] = distribution(logits[None], params)[0]
    return row


def speculative_stream(
    noise: Noise,
    target: LanguageModel,
    draft: LanguageModel | None,
    params: SamplingParams,
    prompt: Sequence[int],
    limits: Limits,
    *,
    gamma: int,
    tokenizer: Tokenizer | None = None,
    verify: Verify = rejection.verify,
    new_session: Callable[[LanguageModel], TreeSession] = TreeSession,
    new_drafter: Callable[[Session, Sampler], Drafter] = ModelDrafter,
    new_draft_session: Callable[[LanguageModel], Session] = Session,
    clock: Callable[[], float] = time.perf_counter,
) -> Stream:
    """Put the engine together, each part replaceable, with everything fresh."""
    sampler = Sampler(params, len(prompt), limits.eos_token_id)
    return Stream(
        prompt,
        new_session(target),
        None if draft is None else new_drafter(new_draft_session(draft), sampler),
        sampler,
        noise,
        limits,
        policy=FixedGamma(gamma),
        tokenizer=tokenizer,
        verifier=Verifier("rule under test", verify),
        clock=clock,
    )


def outcome(generation: Generation) -> Outcome:
    """Return what a reader sees of a generation."""
    return Outcome(generation.token_ids, generation.text, generation.finish_reason, generation.stop)
