"""``KIND[:key=value,...]``, the form in which drafts, rules and policies are asked for."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from minispec.errors import OptionError, quote

Read = Callable[[str], Any]
"""Turns a value's text into the value, or raises ValueError with the rule it broke."""


def read_whole(text: str) -> int:
    """Read a whole number."""
    if not re.fullmatch(r"-?[0-9]{1,18}", text):
        _refuse("a whole number")
    return int(text)


def read_number(text: str) -> float:
    """Read a finite number."""
    try:
        value = float(text)
    except ValueError:
        _refuse("a number")
    if not math.isfinite(value):
        _refuse("a finite number")
    return value


def expect_one_of(*names: str) -> Read:
    """Return a reader of one of ``names``."""

    def read(text: str) -> str:
        if text not in names:
            _refuse(f"one of {', '.join(names)}")
        return text

    return read


def read_flag(text: str) -> bool:
    """Read ``true`` or ``false``."""
    return bool(expect_one_of("true", "false")(text) == "true")


def expect_match(pattern: str, rule: str) -> Read:
    """Return a reader of text that matches ``pattern`` as a whole; ``rule`` says so in words."""

    def read(text: str) -> str:
        if not re.fullmatch(pattern, text):
            _refuse(rule)
        return text

    return read


def split_spec(spec: str) -> tuple[str, str | None]:
    """Return the kind and what follows its colon, None where there is no colon."""
    kind, colon, rest = spec.partition(":")
    return kind, rest if colon else None


def read_options(
    what: str, spec: str, kind: str, rest: str | None, keys: Mapping[str, tuple[Read, Any]], example: str
) -> dict[str, Any]:
    """Read ``key=value,...``; a key that is not given has its default.

    Parameters
    ----------
    what : str
        What is asked for, in messages: "draft", "verify", "gamma".
    spec : str
        The whole of what was written.
    kind, rest : str
        Its parts, see :func:`split_spec`.
    keys : mapping of key to (reader, default)
    example : str
        One that works.

    Raises
    ------
    OptionError
        If a key is unknown or given twice, or a value breaks its rule.

    Examples
    --------
    >>> read_options("gamma", "auto:largest=8", "auto", "largest=8", {"largest": (read_whole, 16)}, "auto")
    {'largest': 8}
    """

    def refuse(problem: str) -> NoReturn:
        raise OptionError(f"{what} {quote(spec)}: {problem}. Try {example}")

    if rest is not None and not keys:
        refuse(f"{kind} takes no options")
    options = {key: default for key, (_, default) in keys.items()}
    given: set[str] = set()
    for pair in [] if rest is None else rest.split(","):
        key, equals, value = pair.partition("=")
        if key not in keys or not equals:
            refuse(f"{quote(pair)} is none of its keys; {kind}'s options are {', '.join(keys)}")
        if key in given:
            refuse(f"{key} is given twice")
        given.add(key)
        try:
            options[key] = keys[key][0](value)
        except ValueError as rule:
            refuse(f"{key} is {quote(value)}; it must be {rule}")
    return options


def _refuse(rule: str) -> NoReturn:
    raise ValueError(rule)
