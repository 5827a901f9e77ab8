"""Fingerprints of code: winnowing (Schleimer, Wilkerson and Aiken 2003) over Python's tokens.

Names, numbers and texts are each all alike, comments and docstrings are left out, so renaming and reformatting change
nothing. What follows a dot and Python's own words are kept: a library's names are not a student's to choose.

Of every :data:`WINDOW` consecutive runs of :data:`RUN` tokens one is chosen, by the least hash. So a passage of
:data:`FOUND` tokens that two texts share is always found, and one shorter than :data:`RUN` never.
"""

from __future__ import annotations

import io
import keyword
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

RUN = 15
"""Tokens of one fingerprint: less is noise."""
WINDOW = 8
FOUND = RUN + WINDOW - 1
_LEFT_OUT = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
)
_BEFORE_A_STATEMENT = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)


@dataclass(frozen=True)
class Fingerprint:
    """A chosen run of tokens.

    Parameters
    ----------
    hash : int
    at : int
        Index of its first token.
    lines : (int, int)
        Of its first and of its last token, from 1.
    """

    hash: int
    at: int
    lines: tuple[int, int]


def read_tokens(source: str) -> list[tuple[str, int]]:
    """Return what is compared of each token, and its line. What is no Python counts as far as it can be read."""
    found: list[tuple[str, int]] = []
    last, begins = "", True
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            is_docstring = begins and token.type == tokenize.STRING
            if token.type not in (tokenize.COMMENT, tokenize.NL):
                begins = token.type in _BEFORE_A_STATEMENT
            if token.type not in _LEFT_OUT and not is_docstring:
                found.append((_say_kind(token, last), token.start[0]))
                last = token.string
    except (tokenize.TokenError, SyntaxError):
        pass
    return found


def _say_kind(token: tokenize.TokenInfo, before: str) -> str:
    if token.type == tokenize.NAME:
        return token.string if keyword.iskeyword(token.string) or before == "." else "name"
    return token.string if token.type == tokenize.OP else tokenize.tok_name[token.type]


def take_fingerprints(source: str) -> list[Fingerprint]:
    """Return a text's fingerprints, in order."""
    tokens = read_tokens(source)
    runs = [" ".join(kind for kind, _ in tokens[i : i + RUN]) for i in range(len(tokens) - RUN + 1)]
    hashes = [int.from_bytes(blake2b(run.encode(), digest_size=8).digest(), "big") for run in runs]
    return [
        Fingerprint(hashes[i], i, (tokens[i][1], tokens[i + RUN - 1][1])) for i in choose_by_winnowing(hashes, WINDOW)
    ]


def choose_by_winnowing(hashes: Sequence[int], window: int) -> Iterator[int]:
    """Yield the places of the least hash of each window, the rightmost of equals; each place once.

    A text of fewer hashes than a window is one window.

    Examples
    --------
    The example of the paper:

    >>> hashes = [77, 74, 42, 17, 98, 50, 17, 98, 8, 88, 67, 39, 77, 74, 42, 17, 98]
    >>> [(hashes[i], i) for i in choose_by_winnowing(hashes, 4)]
    [(17, 3), (17, 6), (8, 8), (39, 11), (17, 15)]
    """
    last = -1
    for begin in range(max(min(len(hashes), 1), len(hashes) - window + 1)):
        places = range(begin, min(begin + window, len(hashes)))
        least = min(places, key=lambda i: (hashes[i], -i))
        if least != last:
            yield least
            last = least
