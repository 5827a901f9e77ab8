"""``KIND[:key=value,...]``, the form in which drafts, rules and policies are asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from minispec.errors import OptionError, shown

Read = Callable[[str], Any]
"""Turns a value's text into the value, or raises ValueError with the rule it broke."""


def whole(text: str) -> int:
    """Read a whole number."""
    try:
        return int(text)
    except ValueError:
        _refuse("a whole number")


def number(text: str) -> float:
    """Read a finite number."""
    try:
        value = float(text)
    except ValueError:
        _refuse("a number")
    if not math.isfinite(value):
        _refuse("a finite number")
    return value


def one_of(*names: str) -> Read:
    """Return a reader of one of ``names``."""

    def read(text: str) -> str:
        if text not in names:
            _refuse(f"one of {', '.join(names)}")
        return text

    return read


def flag(text: str) -> bool:
    """Read ``true`` or ``false``."""
    return bool(one_of("true", "false")(text) == "true")


def read_options(what: str, spec: str, rest: str, keys: Mapping[str, tuple[Read, Any]], example: str) -> dict[str, Any]:
    """Read ``key=value,...``; a key that is not given has its default.

    Parameters
    ----------
    what : str
        What is asked for, in messages: "draft", "verify", "gamma".
    spec : str
        The whole of what was written.
    rest : str
        What follows the colon.
    keys : mapping of key to (reader, default)
    example : str
        One that works.

    Raises
    ------
    OptionError
        If a key is unknown or given twice, or a value breaks its rule.

    Examples
    --------
    >>> read_options("gamma", "auto:largest=8", "largest=8", {"largest": (whole, 16)}, "auto")
    {'largest': 8}
    """
    options = {key: default for key, (_, default) in keys.items()}
    given: set[str] = set()
    for pair in filter(None, rest.split(",")):
        key, equals, value = pair.partition("=")
        if key not in keys or not equals:
            rule = f"its keys are {', '.join(keys)}" if keys else "it takes no options"
            raise OptionError(f"{what} is {shown(spec)}; {shown(pair)} is none of its options: {rule}. Try {example}")
        if key in given:
            raise OptionError(f"{what} is {shown(spec)}; {key} is given twice. Try {example}")
        given.add(key)
        try:
            options[key] = keys[key][0](value)
        except ValueError as rule_broken:
            raise OptionError(
                f"{what} is {shown(spec)}; {key} is {shown(value)}, and it must be {rule_broken}. Try {example}"
            ) from None
    return options


def _refuse(rule: str) -> NoReturn:
    raise ValueError(rule)
