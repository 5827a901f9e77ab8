"""What the target thinks of a text that is there already: ``echo`` with ``logprobs``."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from minispec.engine.generation.transcript import describe_token
from minispec.engine.model.language_model import LanguageModel
from minispec.engine.model.session import PREFILL_CHUNK, Session
from minispec.engine.records import TokenDetail
from minispec.engine.tokenizer import Tokenizer
from minispec.serving.answers import LogprobLog
from minispec.serving.choices import list_prompts
from minispec.serving.problems import refuse
from minispec.serving.service import InFlight, Service
from minispec.serving.worker import Worker


@dataclass(frozen=True)
class Prefix:
    """What comes before a choice's own text where the prompt is echoed, with log probabilities if they are wanted.

    Attributes
    ----------
    num_characters : int
        Of the prompt, echoed or not: the places of the choice's own tokens begin behind it.
    """

    text: str = ""
    logprobs: Mapping[str, Any] | None = None
    num_characters: int = 0


async def list_prefixes(flight: InFlight, tokenizer: Tokenizer, service: Service) -> list[Prefix]:
    """Return what comes before each choice's own text.

    Raises
    ------
    Problem
        If the prompts cannot be scored in the time that a request has.
    """
    assert flight.deadline is not None
    try:
        async with asyncio.timeout_at(flight.deadline.when()):
            return await _list_prefixes(flight, tokenizer, service)
    except TimeoutError:
        seconds = f"{service.settings.max_s:g} seconds"
        refuse(f"the prompts take longer to score than the {seconds} of a request; send fewer or shorter ones", "echo")


async def _list_prefixes(flight: InFlight, tokenizer: Tokenizer, service: Service) -> list[Prefix]:
    request = flight.request
    n, prefixes = request.n or 1, []
    for prompt in list_prompts(request):
        text = prompt if isinstance(prompt, str) else tokenizer.decode(prompt)
        if not request.echo:
            prefixes += [Prefix(num_characters=len(text))] * n
            continue
        tokens = tokenizer.encode_prompt(prompt) if isinstance(prompt, str) else prompt
        logprobs = None
        if request.logprobs is not None:
            details = await score(service.worker, service.target, tokens)
            logprobs = LogprobLog(request.logprobs, tokenizer, text=text).add(tokens, details)
        prefixes += [Prefix(text, logprobs, len(text))] * n
    return prefixes


async def score(worker: Worker, model: LanguageModel, tokens: Sequence[int]) -> list[TokenDetail | None]:
    """Return a detail per token, None for the first: no token comes before it.

    The text is fed in chunks between the steps of others, as a prompt is.

    Parameters
    ----------
    worker : Worker
        Runs the forwards.
    model : LanguageModel
    tokens : sequence of int
        At least one.
    """
    session = Session(model)
    details: list[TokenDetail | None] = [None]
    for start in range(0, len(tokens) - 1, PREFILL_CHUNK):
        chunk, following = tokens[start : start + PREFILL_CHUNK], tokens[start + 1 : start + PREFILL_CHUNK + 1]
        details += await worker.do(partial(_score, session, chunk, following))
    return details


def _score(session: Session, chunk: Sequence[int], following: Sequence[int]) -> list[TokenDetail]:
    rows = session.score(chunk)  # (T, V)
    return [describe_token(row, softmax(row), token) for row, token in zip(rows, following, strict=False)]


def softmax(row: np.ndarray) -> np.ndarray:
    """Return the distribution of a row of logits, (V,)."""
    weights = np.exp(row.astype(np.float64) - float(row.max()))
    probs: np.ndarray = weights / weights.sum()
    return probs
