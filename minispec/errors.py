"""Errors a caller can act on.

The tree, with the exit code the command line gives each::

    MinispecError                        1  something of ours went wrong
    ├── InvariantError                   1  the engine caught itself in a contradiction: please report it
    └── InputError                       2  the user's input; the message says value, rule and way out
        ├── OptionError                  2  an option outside its range, or two that do not go together
        ├── PromptError                  2  empty, too long for the context, not UTF-8
        ├── ModelNotFoundError           2  no such folder, bundled model or hub name
        ├── ModelFileError               2  a file of a model folder is missing, broken or contradicts another
        ├── VocabularyError              2  draft and target do not share one vocabulary
        ├── CorpusError                  2  training text missing, empty or not UTF-8
        ├── CheckpointError              2  a training checkpoint that does not fit
        ├── MissingDependencyError       2  an optional package is not installed
        └── OutputError                  2  a file we were asked to write cannot be written

Ctrl-C is not an error of ours: the command line answers it with exit code 130.

A message names **the value, the rule and the way out**, in one line::

    temperature is -1.0; it must be a number >= 0 (0 means greedy). Try --temperature 0.8
"""

from __future__ import annotations

import difflib
import json
import re
import reprlib
from collections.abc import Container, Iterable
from typing import Any, ClassVar


class MinispecError(Exception):
    """Base of every error raised on purpose by minispec."""

    exit_code: ClassVar[int] = 1


class InvariantError(MinispecError):
    """The engine found one of its own invariants broken."""


class InputError(MinispecError, ValueError):
    """The input cannot be used; the message says why and what would work."""

    exit_code: ClassVar[int] = 2


class OptionError(InputError):
    """An option is outside its range, or two options contradict each other."""


class PromptError(InputError):
    """The prompt is empty, too long for the context, or not UTF-8."""


class ModelNotFoundError(InputError):
    """A model reference names no folder, no bundled model and no hub model."""


class ModelFileError(InputError):
    """A file of a model folder is missing, broken, or contradicts another file."""


class VocabularyError(InputError):
    """Draft and target do not share one vocabulary."""


class CorpusError(InputError):
    """Training text is missing, empty, or not UTF-8."""


class CheckpointError(InputError):
    """A training checkpoint is broken or belongs to another run."""


class MissingDependencyError(InputError):
    """An optional package is needed and not installed; the message names the extra."""


def missing(package: str, need: str, extra: str) -> MissingDependencyError:
    """Return the error for an optional package that is not installed, in the one spelling of all such messages.

    Parameters
    ----------
    package, need : str
        What is missing, and what wants it: "plots need it".
    extra : str
        The extra of this project that brings it.
    """
    return MissingDependencyError(
        f"{package} is not installed; {need} it. Try: pip install '.[{extra}]' in a clone of minispec"
    )


class OutputError(InputError):
    """A file cannot be written."""


class _Repr(reprlib.Repr):
    """Python writes no integer of thousands of digits."""

    def repr_int(self, x: int, level: int) -> str:
        return super().repr_int(x, level) if x.bit_length() < 10_000 else f"a number of {x.bit_length()} bits"


_SHORT = _Repr()
_SHORT.maxstring = _SHORT.maxother = 60
_SHORT.maxlong = 30
_SHORT.maxlevel = 3


def suggest(value: str, choices: Iterable[str], otherwise: str, closeness: float = 0.6) -> str:
    """Return a way out of a misspelt name: the nearest that exists, or ``otherwise`` if none is near.

    Examples
    --------
    >>> suggest("tre", ("rejection", "tree"), "Try --verify block")
    "Did you mean 'tree'?"
    >>> suggest("x", ("rejection", "tree"), "Try --verify block")
    'Try --verify block'
    """
    close = difflib.get_close_matches(value, list(choices), n=1, cutoff=closeness)
    return f"Did you mean {close[0]!r}?" if close else otherwise


def quote(value: Any) -> str:
    """Quote a value in a message: one printable line of at most about 100 characters, whatever a file put there."""
    return _one_line(repr(value) if isinstance(value, str) and len(value) <= 60 else _SHORT.repr(value), 100)


def quote_json(value: Any) -> str:
    """Write a value that a JSON file holds as JSON, in one printable line of at most 100 characters.

    Examples
    --------
    >>> quote_json({"type": None}), quote_json(True), quote_json("3")
    ('{"type": null}', 'true', '"3"')
    """
    return _one_line(json.dumps(value, ensure_ascii=False), 100)


def name_fields(message: str, fields: Container[str]) -> str:
    """Return a message about options with these fields of a JSON object in the place of their flags.

    Examples
    --------
    >>> name_fields("top-p is 2; it must be in (0, 1]. Try --top-p 0.9, or --verify 'a b'", ("top_p", "verify"))
    'top_p is 2; it must be in (0, 1]. Try "top_p": 0.9, or "verify": "a b"'
    >>> name_fields('from a file: --regex "$(cat FILE)", or another --backend numba', ("regex",))
    'from a file: "regex": "the text of FILE", or another --backend numba'
    """

    def to_field(flag: re.Match[str]) -> str:
        name = flag[1].replace("-", "_")
        value = re.sub(r"\$\(cat (.+)\)", r"the text of \1", flag[2].strip("'\""))
        is_word = re.fullmatch(r"-?[0-9.]+|true|false", value) is None
        return f'"{name}": {json.dumps(value) if is_word else value}' if name in fields else flag[0]

    def to_name(match: re.Match[str]) -> str:
        return name if (name := match[0].replace("-", "_")) in fields else match[0]

    message = re.sub(r"(?:^|(?<= and ))[a-z-]+(?= )", to_name, message)
    return re.sub(r"--([a-z-]+) ('[^']*'|\"[^\"]*\"|[^\s,]+(?:,[^\s,]+)*)", to_field, message)


def explain(error: BaseException) -> str:
    """Return what a library or the system says went wrong, as one printable line of at most 160 characters."""
    told = str(error)
    if isinstance(error, OSError):  # nobody needs the number
        told = told.removeprefix(f"[Errno {error.errno}] ")
    return _one_line(told, 160) or type(error).__name__


def _one_line(text: str, limit: int) -> str:
    line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in " ".join(text[: 4 * limit].split()))
    return line if len(line) <= limit else line[: limit - 3] + "..."
