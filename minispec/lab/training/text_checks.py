"""Questions a program can ask of text: how plain it is, real words, loops, repetition, the answer, code that parses.

Plain functions on strings and token ids; nothing here needs a model. A small model learns from text it can almost
predict: the recipe keeps the plainest part of old children's books, and of the standard library's files likewise.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case; digits, signs and underscores separate."""
    return [word.lower() for word in _WORD.findall(text)]


def common_words(documents: Iterable[str], count: int) -> frozenset[str]:
    """Return the `count` most frequent words of some documents."""
    counter = Counter(word for document in documents for word in words_of(document))
    return frozenset(word for word, _ in counter.most_common(count))


def difficulty(document: str, common: Collection[str], sentence_end: re.Pattern[str]) -> tuple[float, float]:
    """Return the share of words outside `common`, and the mean number of words a sentence."""
    words = words_of(document)
    sentences = [sentence for sentence in sentence_end.split(document) if _WORD.search(sentence)]
    if not words:
        return 1.0, float("inf")
    return sum(word not in common for word in words) / len(words), len(words) / len(sentences)


def simplest(
    documents: Sequence[str], share: float, common: Collection[str], sentence_end: re.Pattern[str]
) -> tuple[str, ...]:
    """Return the simplest documents, in their old order.

    Each document has a rank by rare words and one by the length of its sentences; the sum of both decides.

    Parameters
    ----------
    documents : sequence of str
    share : float
        Of the documents kept, between 0 and 1; at least one is.
    common : collection of str
        Words, in lower case, that do not count as rare.
    sentence_end : Pattern
        What separates sentences (or lines).
    """
    measured = [difficulty(document, common, sentence_end) for document in documents]
    ranks = [0] * len(documents)
    for side in (0, 1):
        for rank, number in enumerate(sorted(range(len(documents)), key=lambda n: measured[n][side])):
            ranks[number] += rank
    kept = sorted(sorted(range(len(documents)), key=lambda n: ranks[n])[: max(1, round(share * len(documents)))])
    return tuple(documents[number] for number in kept)


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
