"""Which books are plainest: few rare words, short sentences.

A small model learns from text it can almost predict. Old children's books differ widely; the recipe keeps the plainest
part of them, and of the standard library's files likewise.
"""

from __future__ import annotations

import re
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
