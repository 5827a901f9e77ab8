"""OpenAI's objects, made from generations and events."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from minispec.engine.generation.result import Generation
from minispec.engine.records import TokenDetail

Decode = Callable[[Sequence[int]], str]

FINISH_REASONS = {"eos": "stop", "stop": "stop"}
"""OpenAI's word for the end of a text; every other end is a "length"."""


@dataclass(frozen=True)
class Envelope:
    """What all chunks of an answer have in common."""

    id: str
    model: str
    created: int

    @classmethod
    def new(cls, id_: str, model: str) -> Envelope:
        """Stamp an answer with the time."""
        return cls(id_, model, int(time.time()))

    def wrap(self, choices: Sequence[Mapping[str, Any]], usage: Mapping[str, int] | None) -> dict[str, Any]:
        """Return a completion, or a chunk of one."""
        return {
            "id": self.id,
            "object": "text_completion",
            "created": self.created,
            "model": self.model,
            "choices": list(choices),
            "usage": usage,
        }


def to_choice(
    index: int,
    text: str,
    logprobs: Mapping[str, Any] | None = None,
    end: tuple[str, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Return a choice, or a piece of one; ``end`` is why it ended, and what there is to say of it then."""
    choice: dict[str, Any] = {"text": text, "index": index, "logprobs": logprobs, "finish_reason": None}
    if end is not None:
        choice |= {"finish_reason": FINISH_REASONS.get(end[0], "length"), "minispec": end[1]}
    return choice


def describe_end(generation: Generation, finish: str, draft: str | None, arm: str | None) -> dict[str, Any]:
    """Return what we say of a choice besides OpenAI's fields."""
    options = generation.options
    return {
        "seed": options["seed"],
        "finish": finish,
        "stop": generation.stop,
        "draft": draft,
        "gamma": options["gamma"],
        "verify": options["verify"],
        "arm": arm,
        "guarantee": generation.guarantee,
        "reproducible": generation.reproducible,
        "metrics": dataclasses.asdict(generation.metrics),
    }


def count_usage(generations: Sequence[Generation], num_prompts: int) -> dict[str, int]:
    """Return OpenAI's usage: each prompt counts once, however many choices continue it."""
    per_prompt = max(1, len(generations) // num_prompts)
    prompt = sum(generation.metrics.num_prompt_tokens for generation in generations[::per_prompt])
    made = sum(len(generation.token_ids) for generation in generations)
    return {"prompt_tokens": prompt, "completion_tokens": made, "total_tokens": prompt + made}


class LogprobLog:
    """OpenAI's parallel lists of log probabilities, with the place of each token in the text.

    Parameters
    ----------
    count : int
        Likely tokens to list per place.
    decode : callable
        Token ids to text.
    offset : int
        Characters before the first token.
    """

    def __init__(self, count: int, decode: Decode, offset: int = 0) -> None:
        self._count = count
        self._decode = decode
        self._offset = offset

    def add(self, token_ids: Sequence[int], details: Sequence[TokenDetail | None]) -> dict[str, Any]:
        """Return the lists for the next tokens; what has no detail, a first token, has no probability."""
        tokens, logprobs, offsets = [], [], []
        top: list[dict[str, float] | None] = []
        for token, detail in zip(token_ids, details, strict=True):
            text = self._decode((token,))
            tokens.append(text)
            offsets.append(self._offset)
            self._offset += len(text)
            logprobs.append(None if detail is None else detail.logprob)
            top.append(None if detail is None else self._list_likely(token, detail))
        return {
            "tokens": tokens,
            "token_logprobs": logprobs,
            "top_logprobs": top if self._count else None,
            "text_offset": offsets,
        }

    def _list_likely(self, token: int, detail: TokenDetail) -> dict[str, float]:
        """Return the likeliest tokens by their texts, and the one that was taken."""
        listed = {self._decode((likely.token,)): likely.logprob for likely in detail.top[: self._count]}
        return listed | {self._decode((token,)): detail.logprob}


def join_logprobs(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the lists of several parts one behind the other."""
    joined: dict[str, Any] = {}
    for name in ("tokens", "token_logprobs", "top_logprobs", "text_offset"):
        columns = [part[name] for part in parts]
        joined[name] = None if None in columns else [entry for column in columns for entry in column]
    return joined
