"""What the target thinks of a text that is there already: ``echo`` with ``logprobs``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from minispec.engine.generation.transcript import describe_token
from minispec.engine.model.language_model import LanguageModel
from minispec.engine.model.session import PREFILL_CHUNK, Session
from minispec.engine.records import TokenDetail
from minispec.serving.worker import Worker


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
