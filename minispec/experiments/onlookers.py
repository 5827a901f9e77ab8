"""Those who are shown drafts as they are made: a reader, an editor that colours code, a voice that reads aloud.

The clock counts plain steps: a drafted token takes ``c`` of one, a verification takes one. A draft is shown when it is
made; the verdict keeps some of it, takes back the rest, and adds the target's own token.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from minispec.experiments.runs import Turn
from minispec.records import Step

WORD = re.compile(r"\S+(?=\s)")
"""A word to say: it is known to be whole once a space follows it."""

NAME = re.compile(r"[^\W\d]\w*(?=\W)")
"""A name in code, likewise."""


@dataclass(frozen=True, slots=True)
class Showing:
    """A step, as one sees it who is shown drafts.

    Parameters
    ----------
    before : str
        The prompt and the committed text when the step begins.
    drafted : str
        What is shown after it.
    times : tuple of float
        When each character of ``drafted`` is shown, in plain steps since the beginning.
    kept : int
        Characters of ``drafted`` that the verdict keeps.
    verdict : float
        When it falls.
    after : str
        The committed text then.
    """

    before: str
    drafted: str
    times: tuple[float, ...]
    kept: int
    verdict: float
    after: str

    @property
    def taken_back(self) -> int:
        """Characters that were shown and are taken back."""
        return len(self.drafted) - self.kept

    @property
    def earlier(self) -> float:
        """How much earlier the kept characters were seen than without drafts, summed over them, in plain steps."""
        return sum(self.verdict - time for time in self.times[: self.kept])


def watch(
    prompt: str, steps: Iterable[Step | Turn], decode: Callable[[Sequence[int]], str], c: float
) -> Iterator[Showing]:
    """Yield what is shown of a run whose drafts are chains.

    Parameters
    ----------
    prompt : str
    steps : iterable of Step or Turn
    decode : callable
        Token ids to text.
    c : float
        What a drafted token takes, in plain steps.
    """
    text, clock = prompt, 0.0
    for step in steps:
        pieces = [decode([token]) for token in step.draft_tokens]
        times = tuple(clock + c * (i + 1) for i, piece in enumerate(pieces) for _ in piece)
        clock += c * len(pieces) + 1.0
        after = text + "".join(decode([token]) for token in step.tokens)
        kept = sum(map(len, pieces[: step.num_accepted]))
        yield Showing(text, "".join(pieces), times, kept, clock, after)
        text = after


_STRINGS = re.compile(r"\\.|\"\"\"|'''|[\"'#\n()\[\]{}]", re.DOTALL)
_CLOSES = {")": "(", "]": "[", "}": "{"}


def colouring(text: str) -> tuple[str, str]:
    r'''Return what the end of a Python text is in: a string or a comment, by its first mark; and its open brackets.

    Examples
    --------
    >>> colouring("f(x, [1, 'a"), colouring("f(x)  # why (not"), colouring('"""It\'s\n')
    (("'", '(['), ('#', ''), ('"""', ''))
    '''
    inside, brackets = "", ""
    for found in _STRINGS.finditer(text):
        mark = found.group()
        if inside:
            short = len(inside) == 1  # a line's end closes it; three quotes do too, and are an empty string besides
            if (mark == inside != "#") or (short and mark in ("\n", inside * 3)):
                inside = ""
        elif mark in ('"', "'", "#", '"""', "'''"):
            inside = mark
        elif mark in "([{":
            brackets += mark
        elif mark in _CLOSES and brackets.endswith(_CLOSES[mark]):
            brackets = brackets[:-1]
    return inside, brackets


def flips(showing: Showing) -> bool:
    """Whether an editor that coloured the drafts has to colour anew: what is taken back opened or closed something."""
    kept = showing.before + showing.drafted[: showing.kept]
    return bool(showing.taken_back) and colouring(showing.before + showing.drafted) != colouring(kept)


def renames(showing: Showing) -> bool:
    """Whether a whole name that was shown is not there after the verdict."""
    text, start = showing.before + showing.drafted, len(showing.before)
    names = (name for name in NAME.finditer(text) if name.end() > start)
    return bool(showing.taken_back) and any(not _stands(name, NAME, showing.after) for name in names)


def _stands(found: re.Match[str], pattern: re.Pattern[str], text: str) -> bool:
    there = pattern.match(text, found.start())
    return there is not None and there.group() == found.group()


def say(showings: Sequence[Showing], wait: float, pace: float) -> tuple[int, int]:
    """Read a run aloud as it is shown; return the words said, and those of them that the text turned out not to have.

    After a wrong word the voice says the right one: nothing is left out.

    Parameters
    ----------
    showings : sequence of Showing
    wait : float
        How long a word must have been shown whole before it is said, in plain steps.
    pace : float
        How long a character takes to say, in plain steps. With 0 the voice says all it may at once.
    """
    start, final = len(showings[0].before), showings[-1].after
    said = wrong = 0
    free, place = 0.0, start
    seen: list[float] = []  # when each committed character was first shown
    for showing in showings:
        times = [*seen, *showing.times]
        sound = True
        for word in WORD.finditer(showing.before + showing.drafted, place):
            begin = max(free, times[word.end() - start] + wait)
            if begin >= showing.verdict:
                break
            free = begin + pace * len(word.group())
            said += 1
            sound = sound and _stands(word, WORD, final)
            wrong += not sound
            place = word.end() if sound else place
        own = len(showing.after) - len(showing.before) - showing.kept
        seen += [*showing.times[: showing.kept], *[showing.verdict] * own]
    return said + len(WORD.findall(final, place)), wrong
