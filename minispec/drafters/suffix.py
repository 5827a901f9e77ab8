"""The longest suffix of the text that occurred before, of any length, found by a suffix automaton.

An n-gram lookup forgets what lies more than n tokens back; a suffix automaton (Blumer et al. 1985) holds *every*
substring of the text in O(length) states and is built online. Its states are classes of substrings that end at the
same places; the link of the class of the whole text is the longest suffix that ends somewhere else too: the match, for
free. Used for drafting in SAM Decoding (Hu et al. 2024) and, as a suffix tree, in SuffixDecoding (Oliaro et al. 2024).

Of several earlier occurrences the *most recent* is copied (``recent`` is kept up to date along the links, as many as
the suffix has classes: few in real text). Deterministic: rows are one-hot. Every change is journalled, so a rollback
undoes exactly what the tokens did.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minispec.drafters.base import MoreTokens
from minispec.drafters.copying import copy_draft, copy_on
from minispec.errors import OptionError
from minispec.model.session import count_shared
from minispec.noise import Coins
from minispec.records import Draft


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


class SuffixDrafter:
    """Copies what followed the most recent earlier occurrence of the longest repeated suffix.

    Parameters
    ----------
    vocab_size : int
    min_length : int
        Shortest suffix that counts as a match.

    Raises
    ------
    OptionError
        If ``min_length`` is below 1.
    """

    def __init__(self, vocab_size: int, min_length: int = 1) -> None:
        if min_length < 1:
            raise OptionError(f"suffix: min is {min_length}; a match has at least 1 token. Try suffix:min=1")
        self._vocab_size = vocab_size
        self._min_length = min_length
        self.automaton = SuffixAutomaton()
        self._intact = True

    def prefill(self, tokens: Sequence[int]) -> None:
        """Read the prompt."""
        known = self.automaton.tokens
        if known != list(tokens[: len(known)]):  # another text
            self.rollback(count_shared(known, tokens))
        self._begin()
        for token in tokens[len(self.automaton.tokens) :]:
            self.automaton.push(token)
        self._intact = True

    def propose(self, tokens: Sequence[int], gamma: int, coins: Coins, more: MoreTokens) -> Draft:
        """Copy ``gamma`` tokens from the match, or none if there is no match."""
        self.prefill(tokens)
        length, end = self.automaton.match[-1] if self.automaton.match else (0, -1)
        if length < self._min_length:
            return copy_draft([], self._vocab_size)
        return copy_draft(copy_on(self.automaton.tokens, end + 1, gamma), self._vocab_size, more)

    def rollback(self, length: int) -> None:
        """Undo the tokens beyond ``length``."""
        self._begin()
        while len(self.automaton.tokens) > length:
            self.automaton.pop()
        self._intact = True

    def _begin(self) -> None:
        """Begin a change; an automaton that an interruption left half changed is forgotten first, and made again."""
        if not self._intact:
            self.automaton = SuffixAutomaton()
        self._intact = False
