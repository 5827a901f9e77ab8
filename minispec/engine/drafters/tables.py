"""Unigram and bigram tables counted from a text: the weak drafts of Leviathan et al. 2023 (sections 3.6, 4.2).

They cost next to nothing and are right now and then; a bigram accepted 20 % of the time already pays there. Counts are
smoothed so that every token has a probability: with k pseudo-counts spread by a prior u,

    q(x | context) = (count(context, x) + k u(x)) / (count(context) + k),

where u is uniform for the unigram, and the unigram for the bigram (MacKay and Peto 1995). The table then passes
through the target's processors like any model's logits.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from minispec.engine.drafters.base import ChainDrafter
from minispec.engine.model.asks import Asks
from minispec.engine.records import Probs
from minispec.engine.sampling.sampler import Params
from minispec.errors import CorpusError, OptionError, explain


def read_text(path: str | Path, key: str = "text") -> str:
    """Read the text of a draft that comes from a text.

    Parameters
    ----------
    path : str or Path
    key : str
        How the draft's option is called.

    Raises
    ------
    CorpusError
        If it is missing, empty or not UTF-8.
    """
    try:
        text = Path(path).expanduser().read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path} is not UTF-8 ({explain(error)}). Convert it, for example with iconv") from None
    except (OSError, RuntimeError, ValueError) as error:
        what = getattr(error, "strerror", None) or explain(error)
        raise CorpusError(f"{path} cannot be read ({what}). Name a text file: {key}=PATH") from None
    if not text:
        raise CorpusError(f"{path} is empty; a draft needs some text to learn from. Name another: {key}=PATH")
    return text


_ANY_LENGTH = 1 << 60
"""The window of a drafter that has none."""


class TokenTable:
    """Smoothed next-token probabilities, counted from a token sequence.

    Parameters
    ----------
    tokens : sequence of int
        The text, at least one token.
    vocab_size : int
    order : {1, 2}
        1 ignores the context, 2 looks at the token before.
    k : float
        Pseudo-counts, > 0, so that no probability is 0.

    Raises
    ------
    OptionError
        If ``k`` is not positive.
    """

    def __init__(self, tokens: Sequence[int], vocab_size: int, order: int, k: float = 1.0) -> None:
        if not 0.0 < k < float("inf"):
            raise OptionError(f"k is {k}; the pseudo-counts must be > 0, so that no probability is 0. Try k=1")
        counts = np.bincount(np.asarray(tokens, np.int64), minlength=vocab_size)
        self.unigram: Probs = np.asarray((counts + k / vocab_size) / (len(tokens) + k), np.float64)
        self._k = k
        self._followers: dict[int, list[int]] = defaultdict(list)
        if order == 2:
            for token, follower in itertools.pairwise(tokens):
                self._followers[token].append(follower)

    def next_probs(self, context: Sequence[int]) -> Probs:
        """Return the distribution of the token after ``context``, shape (V,)."""
        followers = self._followers.get(context[-1]) if context else None
        if not followers:
            return self.unigram
        counts = np.bincount(followers, minlength=len(self.unigram))
        probs: Probs = (counts + self._k * self.unigram) / (len(followers) + self._k)
        return probs


class TableDrafter(ChainDrafter):
    """Draws tokens from a table.

    Parameters
    ----------
    table : TokenTable
    params : SamplingParams or Sampler
    coupled : bool
        See :class:`ChainDrafter`.
    """

    def __init__(self, table: TokenTable, params: Params, *, coupled: bool = False) -> None:
        super().__init__(params, len(table.unigram), window=_ANY_LENGTH, coupled=coupled)
        self._table = table

    def prefill(self, tokens: Sequence[int]) -> None:
        """Nothing to do: the table is all there is."""

    def next_probs(self, prefix: list[int]) -> Asks[Probs]:
        """Return the table's row, processed as the target's are; it asks for nothing."""
        yield from ()
        logits = np.log(self._table.next_probs(prefix)).astype(np.float32)
        probs: Probs = self.sampler(logits[None], prefix)[0]
        return probs

    def rollback(self, length: int) -> None:
        """Nothing to do: it has no memory."""
