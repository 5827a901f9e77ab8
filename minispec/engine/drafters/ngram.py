"""Prompt lookup: the last few tokens occurred before, so propose what followed them then.

Source: Saxena, "Prompt Lookup Decoding" (2023); also `ngram` of vLLM and of Hugging Face transformers. It costs next to
nothing and is best if the text repeats its input: summaries, edits, code, question answering on a document.

Deterministic: rows are one-hot. The index is incremental: a token adds itself to at most n lists and takes itself out
of them on a rollback, so a step costs O(n) per new token whatever the length of the text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minispec.engine.drafters.base import MoreTokens, allow_all
from minispec.engine.model.session import count_shared
from minispec.engine.noise import Coins
from minispec.engine.records import Draft
from minispec.errors import OptionError

_MOST = 64


class NgramDrafter:
    """Copies what followed the most recent earlier occurrence of the longest matching n-gram.

    Parameters
    ----------
    vocab_size : int
    n : int
        Longest n-gram to look for.
    min_n : int
        Shortest one that counts as a match.

    Raises
    ------
    OptionError
        If not 1 <= min_n <= n <= 64: a text's index has n lists for each of its tokens.
    """

    def __init__(self, vocab_size: int, n: int = 3, min_n: int = 1) -> None:
        if not 1 <= n <= _MOST:
            raise OptionError(f"ngram: n is {n}; the window must have from 1 to {_MOST} tokens. Try ngram:n=3")
        if not 1 <= min_n <= n:
            raise OptionError(f"ngram: min_n is {min_n}; it must be from 1 to n = {n}. Try ngram:n={n},min_n=1")
        self._vocab_size = vocab_size
        self._sizes = range(n, min_n - 1, -1)
        self._tokens: list[int] = []
        self._ends: dict[tuple[int, ...], list[int]] = {}  # where each n-gram's occurrences end, in order
        self._intact = True

    def prefill(self, tokens: Sequence[int]) -> None:
        """Index the prompt."""
        self._catch_up(tokens)

    def propose(self, tokens: Sequence[int], gamma: int, coins: Coins, more: MoreTokens) -> Draft:
        """Copy ``gamma`` tokens from the match, or none if there is no match."""
        self._catch_up(tokens)
        for n in self._sizes:
            ends = self._ends.get(tuple(self._tokens[-n:]), [])
            if len(self._tokens) >= n and len(ends) > 1:  # the last occurrence is the end of the text itself
                return copy_draft(copy_on(self._tokens, ends[-2] + 1, gamma), self._vocab_size, more)
        return copy_draft([], self._vocab_size)

    def rollback(self, length: int) -> None:
        """Take the tokens beyond ``length`` out of the index."""
        self._begin()
        while len(self._tokens) > length:
            for gram in self._grams():
                self._ends[gram].pop()
                if not self._ends[gram]:
                    del self._ends[gram]
            self._tokens.pop()
        self._intact = True

    def _catch_up(self, tokens: Sequence[int]) -> None:
        if self._tokens != list(tokens[: len(self._tokens)]):  # another text
            self.rollback(count_shared(self._tokens, tokens))
        self._begin()
        for token in tokens[len(self._tokens) :]:
            self._tokens.append(token)
            for gram in self._grams():
                self._ends.setdefault(gram, []).append(len(self._tokens) - 1)
        self._intact = True

    def _begin(self) -> None:
        """Begin a change; an index that an interruption left half changed is forgotten first, and made again."""
        if not self._intact:
            self._tokens, self._ends = [], {}
        self._intact = False

    def _grams(self) -> list[tuple[int, ...]]:
        """Return the n-grams that end with the last token."""
        return [tuple(self._tokens[-n:]) for n in self._sizes if n <= len(self._tokens)]


def copy_draft(tokens: Sequence[int], vocab_size: int, more: MoreTokens = allow_all) -> Draft:
    """Return a deterministic draft: each token was certain, so its row is one-hot and no noise is read."""
    probs = one_hot(tokens, vocab_size)
    count, gamma = 0, len(tokens)
    while count < gamma:
        gamma = min(gamma, count + more(probs[count]))
        count = min(gamma, count + 1)
    return Draft(tuple(tokens[:count]), probs[:count])


def copy_on(tokens: Sequence[int], begin: int, count: int) -> list[int]:
    """Copy ``count`` tokens from ``begin`` on, reading on in what was just copied where the text ends (as LZ77 does).

    Examples
    --------
    >>> copy_on([7, 1, 2], 1, 5)
    [1, 2, 1, 2, 1]
    """
    period = list(tokens[begin:])
    return [period[i % len(period)] for i in range(count)]


def one_hot(tokens: Sequence[int], vocab_size: int) -> NDArray[np.float64]:
    """Return a row per token with all mass on it, shape (G, V)."""
    probs = np.zeros((len(tokens), vocab_size))
    probs[np.arange(len(tokens)), np.asarray(tokens, np.int64)] = 1.0
    return probs
