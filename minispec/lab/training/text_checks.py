"""Questions a program can ask of generated text: real words, loops, repetition, the answer, code that parses.

Plain functions on strings and token ids; nothing here needs a model.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from minispec.lab.training.simplest import words_of

#: Times a word must occur in modern stories, or in old books, to count as English: more often than a misprint does.
MODERN_COUNT, OLD_COUNT = 2, 3
#: Shortest sentence, in words, whose return counts as a loop; "Yes!" may be said again and again.
LOOP_WORDS = 3
#: A loop is one sentence this many times, or this many sentences in a row that come again.
LOOP = 3

_SENTENCE = re.compile(r"[^.!?\n]+")
_ANSWER = re.compile(r"The answer is (-?\d+)")


def english_words(modern: Iterable[str], old: Iterable[str]) -> tuple[str, ...]:
    """Collect a word list from documents, sorted.

    No dictionary has "Timmy", "okay" or "choo-choo", and a model should write them; so a word is what simple modern
    stories have at least ``MODERN_COUNT`` times or old books at least ``OLD_COUNT`` times.
    """
    words: set[str] = set()
    for documents, least in ((modern, MODERN_COUNT), (old, OLD_COUNT)):
        counts = Counter(word for document in documents for word in words_of(document))
        words.update(word for word, count in counts.items() if count >= least)
    return tuple(sorted(words))


def unknown_words(text: str, known: Collection[str]) -> list[str]:
    """Return the words of a text that are not known, in order.

    ``'s`` and plural apostrophes are no part of a word: "the fox's" is known where "fox" is.
    """
    return [word for word in words_of(text) if word not in known and word.removesuffix("'s") not in known]


def without_cut_word(text: str) -> str:
    """Drop the last word of a text that a token limit ended, which may be half a word."""
    return re.sub(r"[A-Za-z']+$", "", text)


def has_loop(text: str) -> bool:
    """Whether a sentence stands in the text three times, or three sentences in a row come again in the same order."""
    sentences = [tuple(words) for part in _SENTENCE.findall(text) if (words := words_of(part))]
    counted = Counter(sentence for sentence in sentences if len(sentence) >= LOOP_WORDS)
    runs = Counter(tuple(sentences[start : start + LOOP]) for start in range(len(sentences) - LOOP + 1))
    return max(counted.values(), default=0) >= LOOP or max(runs.values(), default=0) >= 2


def repeated_share(tokens: Sequence[int], n: int = 4) -> float:
    """Return the share of n-grams that stood earlier in the same row; 0 where a row is shorter than n."""
    grams = [tuple(tokens[start : start + n]) for start in range(len(tokens) - n + 1)]
    return 1.0 - len(set(grams)) / len(grams) if grams else 0.0


def answer_of(text: str) -> int | None:
    """Return the number after the first "The answer is", or None."""
    found = _ANSWER.search(text)
    return None if found is None else int(found[1])


def function_of(prompt: str, continuation: str, ended: bool) -> str:
    """Return prompt and continuation up to the end of the function: the first line that is neither indented nor blank.

    Parameters
    ----------
    prompt : str
        A signature and its docstring, with the line end.
    continuation : str
        What the model wrote.
    ended : bool
        Whether the model ended the text itself; otherwise the last line, which may be half a line, is dropped.
    """
    lines = continuation.split("\n")
    if not ended:
        lines.pop()
    body = []
    for line in lines:
        if line and not line[0].isspace() and line[0] not in ")]}#":  # a closing bracket may stand at the margin
            break
        body.append(line)
    return prompt + "\n".join(body)


def parses(source: str) -> bool:
    """Whether a text is Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "invalid escape sequence" is a warning, not an error
        try:
            ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True
