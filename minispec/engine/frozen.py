"""Records that nobody changes: frozen to the type checker, plain to Python.

A dataclass that Python itself keeps frozen pays for it whenever one is made: its ``__init__`` takes a detour around its
own lock for each field. A decoded token makes seven records with some forty fields, and the detours were a noticeable
part of what the engine does for it between two forwards. So mypy refuses to assign to a field, also in the code of
those who use minispec, and Python does not look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:
    from dataclasses import dataclass

    def record(*, frozen, **options):
        """Make a dataclass with these options that can be hashed as a frozen one can."""
        return dataclass(unsafe_hash=frozen, **options)


__all__ = ["record"]
