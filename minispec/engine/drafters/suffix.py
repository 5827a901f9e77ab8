"""The longest suffix of the text that occurred before, of any length, found by a suffix automaton.

An n-gram lookup forgets what lies more than n tokens back; a suffix automaton (Blumer et al. 1985) holds *every*
substring of the text in O(length) states and is built online. Its states are classes of substrings that end at the
same places; the link of the class of the whole text is the longest suffix that ends somewhere else too: the match, for
free. Used for drafting in SAM Decoding (Hu et al. 2024) and, as a suffix tree, in SuffixDecoding (Oliaro et al. 2024).

A second automaton, of a text that is given and does not grow, may be searched as well (``corpus``): answers of a kind
repeat each other more than themselves. SuffixDecoding adds every output of the server to its tree. Here nothing is
added, or what a request drafts, and so which of its tokens were accepted, would depend on what others had asked before.

Of several earlier occurrences the *most recent* is copied (``recent`` is kept up to date along the links, as many as
the suffix has classes: few in real text). Deterministic: rows are one-hot. Every change is journalled, so a rollback
undoes exactly what the tokens did.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minispec.engine.drafters.base import MoreTokens
from minispec.engine.drafters.ngram import copy_draft, copy_on
from minispec.engine.model.session import count_shared
from minispec.engine.noise import Coins
from minispec.engine.records import Draft
from minispec.errors import CorpusError, OptionError

LARGEST_CORPUS = 1_000_000
"""Tokens of a text that is searched; an automaton takes hundreds of bytes for each."""


class SuffixAutomaton:
    """All substrings of a growing text.

    Attributes
    ----------
    tokens : list of int
    match : list of tuple of int
        For each length of the text, (length, end) of its longest suffix that also occurs earlier, and where the most
        recent earlier occurrence ends; length 0 if there is none.
    """

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.match: list[tuple[int, int]] = []
        self._length = [0]  # of the longest substring of each state; state 0 is the empty one
        self._link = [-1]  # the state of the longest suffix that also ends elsewhere
        self._next: list[dict[int, int]] = [{}]
        self._recent = [-1]  # where the most recent occurrence ends
        self._last = [0]  # the state of the whole text, for each length of it
        self._journal: list[list[tuple[Any, int, Any]]] = []  # per token: what to put back, None for what was absent

    def push(self, token: int) -> None:
        """Append a token: Blumer's extension."""
        self._journal.append([])
        here = self._new_state(self._length[self._last[-1]] + 1, {}, -1)
        state = self._last[-1]
        while state >= 0 and token not in self._next[state]:
            self._set(self._next[state], token, here)
            state = self._link[state]
        link = 0 if state < 0 else self._next[state][token]
        if state >= 0 and self._length[link] != self._length[state] + 1:
            link = self._split(state, token, link)
        self._set(self._link, here, link)
        self.tokens.append(token)
        self._last.append(here)
        self.match.append((self._length[link], self._recent[link]))
        while here > 0:
            self._set(self._recent, here, len(self.tokens) - 1)
            here = self._link[here]

    def pop(self) -> None:
        """Undo the last push."""
        for container, key, before in reversed(self._journal.pop()):
            if before is not None:
                container[key] = before
            else:
                del container[key]
        self.tokens.pop()
        self.match.pop()
        self._last.pop()

    def settle(self) -> None:
        """Forget what a pop would have to undo: the text will neither grow nor shrink any more."""
        self._journal.clear()

    def follow(self, state: int, length: int, token: int) -> tuple[int, int]:
        """Read one more token of *another* text.

        Parameters
        ----------
        state, length : int
            Of the longest suffix of the other text so far that occurs in this one; at first 0, 0.
        token : int

        Returns
        -------
        tuple of int
            The same for the other text with the token after it.
        """
        while state and token not in self._next[state]:
            state = self._link[state]
            length = self._length[state]
        if token not in self._next[state]:
            return 0, 0
        return self._next[state][token], length + 1

    def read_on(self, state: int, count: int) -> list[int]:
        """Return the ``count`` tokens after the most recent occurrence of a state's substrings, fewer at the end."""
        begin = self._recent[state] + 1
        return self.tokens[begin : begin + count]

    def _split(self, state: int, token: int, target: int) -> int:
        """Separate the shorter substrings of ``target``, which now end at one more place, from the longer ones."""
        clone = self._new_state(self._length[state] + 1, dict(self._next[target]), self._link[target])
        self._set(self._recent, clone, self._recent[target])
        self._set(self._link, target, clone)
        while state >= 0 and self._next[state].get(token) == target:
            self._set(self._next[state], token, clone)
            state = self._link[state]
        return clone

    def _new_state(self, length: int, transitions: dict[int, int], link: int) -> int:
        columns: tuple[tuple[list[Any], Any], ...] = (
            (self._length, length),
            (self._link, link),
            (self._next, transitions),
            (self._recent, -1),
        )
        for column, value in columns:
            column.append(value)
            self._journal[-1].append((column, len(column) - 1, None))
        return len(self._length) - 1

    def _set(self, container: Any, key: int, value: Any) -> None:
        before = container.get(key) if isinstance(container, dict) else container[key]
        self._journal[-1].append((container, key, before))
        container[key] = value


def index_tokens(tokens: Sequence[int]) -> SuffixAutomaton:
    """Return the automaton of a text that does not change: any number of drafters may share it.

    Raises
    ------
    CorpusError
        If it has more than a million tokens: the automaton would take a gigabyte.
    """
    if len(tokens) > LARGEST_CORPUS:
        raise CorpusError(
            f"the corpus has {len(tokens)} tokens; its index holds at most {LARGEST_CORPUS}. Give a part of it"
        )
    automaton = SuffixAutomaton()
    for token in tokens:
        automaton.push(token)
        automaton.settle()
    return automaton


class SuffixDrafter:
    """Copies what followed the most recent earlier occurrence of the longest repeated suffix.

    Parameters
    ----------
    vocab_size : int
    min_length : int
        Shortest suffix that counts as a match.
    corpus : SuffixAutomaton, optional
        Of a text to be searched in addition to the request's own, which comes first if both match equally well.

    Raises
    ------
    OptionError
        If ``min_length`` is below 1.
    """

    def __init__(self, vocab_size: int, min_length: int = 1, corpus: SuffixAutomaton | None = None) -> None:
        if min_length < 1:
            raise OptionError(f"suffix: min is {min_length}; a match has at least 1 token. Try suffix:min=1")
        self._vocab_size = vocab_size
        self._min_length = min_length
        self._corpus = SuffixAutomaton() if corpus is None else corpus
        self._forget()

    def _forget(self) -> None:
        self.automaton = SuffixAutomaton()
        self._places = [(0, 0)]  # for each length of the text, where in the corpus it is: see SuffixAutomaton.follow
        self._intact = True

    def prefill(self, tokens: Sequence[int]) -> None:
        """Read the prompt."""
        known = self.automaton.tokens
        if known != list(tokens[: len(known)]):  # another text
            self.rollback(count_shared(known, tokens))
        self._begin()
        for token in tokens[len(self.automaton.tokens) :]:
            self.automaton.push(token)
            self._places.append(self._corpus.follow(*self._places[-1], token))
        self._intact = True

    def propose(self, tokens: Sequence[int], gamma: int, coins: Coins, more: MoreTokens) -> Draft:
        """Copy ``gamma`` tokens from the longer match, or none if there is no match."""
        self.prefill(tokens)
        length, end = self.automaton.match[-1] if self.automaton.match else (0, -1)
        state, length_there = self._places[-1]
        if length_there > length and (copied := self._corpus.read_on(state, gamma)):
            length = length_there
        else:
            copied = copy_on(self.automaton.tokens, end + 1, gamma) if length else []
        return copy_draft(copied if length >= self._min_length else [], self._vocab_size, more)

    def rollback(self, length: int) -> None:
        """Undo the tokens beyond ``length``."""
        self._begin()
        while len(self.automaton.tokens) > length:
            self.automaton.pop()
        del self._places[length + 1 :]
        self._intact = True

    def _begin(self) -> None:
        """Begin a change; an automaton that an interruption left half changed is forgotten first, and made again."""
        if not self._intact:
            self._forget()
        self._intact = False
