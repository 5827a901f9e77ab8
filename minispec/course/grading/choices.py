"""What an assignment's author lets vary from term to term: the table ``[variants]`` of the manifest."""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from minispec.errors import InputError


@dataclass(frozen=True)
class Choices:
    """Names and constants, and what each may become.

    Parameters
    ----------
    names : mapping of str to list of str
        Functions that students write, each with other names for it.
    constants : mapping of str to list
        Constants that ``solution.py`` or ``checks.py`` sets at its top, each with its possible values.
    """

    names: Mapping[str, list[str]] = field(default_factory=dict)
    constants: Mapping[str, list[Any]] = field(default_factory=dict)


def read_choices(told: Mapping[str, Any]) -> Choices:
    """Read the table.

    Raises
    ------
    InputError
        If an entry breaks its rule.
    """
    odd = sorted(set(told) - {"names", "constants"})
    if odd:
        raise InputError(f"[variants] has {odd[0]}, which is no entry; there are names and constants")
    names, constants = told.get("names", {}), told.get("constants", {})
    for table, entries in (("names", names), ("constants", constants)):
        for name, choices in entries.items():
            if not isinstance(choices, list) or not choices:
                raise InputError(f"[variants.{table}] {name} is {choices!r}; give a list of at least one")
    used: set[str] = set(names)
    for name, choices in names.items():
        for one in choices:
            if not isinstance(one, str) or not one.isidentifier() or keyword.iskeyword(one):
                raise InputError(f"[variants.names] {name} = {one!r} is no name of Python's; give another")
            if one.startswith("test"):
                raise InputError(f"[variants.names] {name} = {one!r} begins with test, as pytest's do; give another")
            if one in used:
                raise InputError(f"[variants.names] {name} = {one!r} stands there already; give each name once")
            used.add(one)
    return Choices(names, constants)
