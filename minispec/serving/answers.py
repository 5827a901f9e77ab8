"""OpenAI's objects, made from generations and events."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from minispec.engine.generation.result import Generation
from minispec.engine.records import Step, TokenDetail
from minispec.engine.tokenizer import TextStream, Tokenizer

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

    def wrap(
        self,
        choices: Sequence[Mapping[str, Any]],
        usage: Mapping[str, Any] | None,
        metrics: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return a completion, or a chunk of one."""
        return {
            "id": self.id,
            "object": "text_completion",
            "created": self.created,
            "model": self.model,
            "choices": list(choices),
            "usage": usage,
            "metrics": metrics,
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


def count_usage(generations: Sequence[Generation], num_prompts: int, cached: Mapping[int, int]) -> dict[str, Any]:
    """Return OpenAI's usage: each prompt counts once, however many choices continue it.

    Parameters
    ----------
    generations : sequence of Generation
        By index.
    num_prompts : int
    cached : mapping of int to int
        Of the choices whose prompt was read, tokens that others had left in the caches.
    """
    per_prompt = max(1, len(generations) // num_prompts)
    prompt = sum(generation.metrics.num_prompt_tokens for generation in generations[::per_prompt])
    made = sum(len(generation.token_ids) for generation in generations)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": made,
        "total_tokens": prompt + made,
        "prompt_tokens_details": {
            "cached_tokens": sum(cached.get(i, 0) for i in range(0, len(generations), per_prompt))
        },
    }


def describe_acceptance(
    generations: Sequence[Generation], draft: str | None, level: str = "summary"
) -> dict[str, Any] | None:
    """Return vLLM's ``metrics``: what became of the drafts of a request.

    Parameters
    ----------
    generations : sequence of Generation
        Of the request; of several, as of plain decoding, there is nothing to tell.
    draft : str or None
    level : {"none", "summary", "detailed"}
        "detailed" adds arrays with an entry for each step that drafted.

    Notes
    -----
    The length of a tree is that of its longest path: the most tokens of it that can stand.
    """
    if level == "none" or draft is None or len(generations) != 1:
        return None
    steps = [step for step in generations[0].steps[1:] if step.draft_tokens]
    drafted = [_measure_draft(step) for step in steps]
    accepted = [step.num_accepted for step in steps]
    gamma = generations[0].options["gamma"]
    longest = max([*drafted, gamma if isinstance(gamma, int) and not any(s.draft_parents for s in steps) else 0])
    rows = {length: [0] * (length + 1) for length in sorted(set(drafted))}
    histogram = [0] * (longest + 1)
    for length, stands in zip(drafted, accepted, strict=True):
        rows[length][stands] += 1
        histogram[stands] += 1
    told: dict[str, Any] = {
        "mean_acceptance_length": 1.0 + sum(accepted) / len(steps) if steps else 1.0,
        "draft_acceptance_rate": sum(accepted) / sum(drafted) if steps else 0.0,
        "acceptance_histogram": histogram,
        "acceptance_histogram_by_draft_length": {str(length): row for length, row in rows.items()},
        "num_spec_steps": len(steps),
        "num_accepted_draft_tokens": sum(accepted),
        "num_draft_tokens": sum(drafted),
        "num_spec_tokens": longest,
    }
    if level == "detailed":
        told |= {"per_step_accepted": accepted, "per_step_drafted": drafted}
    return {"speculative_decoding": told}


def _measure_draft(step: Step) -> int:
    """Return the most tokens of a draft that can stand."""
    if step.draft_parents is None:
        return len(step.draft_tokens)
    depths: list[int] = []
    for parent in step.draft_parents:
        depths.append(1 if parent < 0 else depths[parent] + 1)
    return max(depths)


class LogprobLog:
    """OpenAI's parallel lists of log probabilities, with the place of each token in the text.

    Parameters
    ----------
    count : int
        Likely tokens to list per place.
    tokenizer : Tokenizer
    offset : int
        Characters before the first token.
    text : str
        A prompt of which these are the tokens: special ones that are written out in it have a length there.

    Notes
    -----
    A token that begins within a character has that character's place. Each token has a name of its own
    (:meth:`minispec.engine.tokenizer.Tokenizer.name`), so none takes another's place among the likely ones.
    """

    def __init__(self, count: int, tokenizer: Tokenizer, offset: int = 0, text: str = "") -> None:
        self._count = count
        self._tokenizer = tokenizer
        self._stream = TextStream(tokenizer)
        self._offset = offset
        self._text = text

    def add(self, token_ids: Sequence[int], details: Sequence[TokenDetail | None]) -> dict[str, Any]:
        """Return the lists for the next tokens; what has no detail, a first token, has no probability."""
        tokens, logprobs, offsets = [], [], []
        top: list[dict[str, float] | None] = []
        for token, detail in zip(token_ids, details, strict=True):
            tokens.append(self._tokenizer.name(token))
            offsets.append(self._offset)
            self._offset += self._count_characters(token)
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
        listed = {self._tokenizer.name(likely.token): likely.logprob for likely in detail.top[: self._count]}
        return listed | {self._tokenizer.name(token): detail.logprob}

    def _count_characters(self, token: int) -> int:
        """Return how many characters a token completes in the text."""
        if token not in self._tokenizer.special_ids:
            return len(self._stream.push(token))
        written = self._tokenizer.name(token)
        return len(written) if self._text.startswith(written, self._offset) else 0


def join_logprobs(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the lists of several parts one behind the other."""
    joined: dict[str, Any] = {}
    for name in ("tokens", "token_logprobs", "top_logprobs", "text_offset"):
        columns = [part[name] for part in parts]
        joined[name] = None if None in columns else [entry for column in columns for entry in column]
    return joined
