"""Renames functions throughout Python source: by scope in code, in prose where a function is meant.

A local variable of the same name keeps it, and so does an entry of a dictionary. In docstrings, comments and Markdown a
name is a function's where it is called, stands alone between backticks, or has an underscore, as no English word has.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from minispec.errors import InputError

Names = Mapping[str, str]
_SCOPES = (ast.FunctionDef, ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class _Place:
    """Where a name stands: line from 1, column in bytes, as in Python's syntax tree."""

    line: int
    column: int
    name: str


def rename_in_code(source: str, names: Names, *, holders: Iterable[str] = (), told_to: Iterable[str] = ()) -> str:
    """Return the source with functions of its module renamed.

    Parameters
    ----------
    source : str
    names : mapping of str to str
        Old to new.
    holders : iterable of str
        Objects whose attributes are these functions: ``student`` in checks, the module in its tests.
    told_to : iterable of str
        Functions, or methods, that are given a name as a text.

    Raises
    ------
    InputError
        If a place cannot be found.
    """
    tree = ast.parse(source)
    places = [*_find_names(tree, names, frozenset()), *_find_attributes(tree, names, set(holders))]
    places += _find_texts(tree, names, set(told_to))
    places += _find_imports(tree, names, set(holders))
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    for place in sorted(places, key=lambda place: (place.line, place.column), reverse=True):
        line, old = lines[place.line - 1], place.name.encode()
        if line[place.column : place.column + len(old)] != old:
            raise InputError(f"line {place.line}: {place.name} cannot be renamed in an f-string; write it outside")
        lines[place.line - 1] = line[: place.column] + names[place.name].encode() + line[place.column + len(old) :]
    return _rename_in_remarks(b"".join(lines).decode(), names)


def find_identifiers(source: str) -> set[str]:
    """Return every name that code uses, whatever for: a new name must be none of them."""
    return {token.string for token in _read_tokens(source) if token.type == tokenize.NAME}


def rename_in_prose(text: str, names: Names) -> str:
    """Return a text with functions renamed.

    Examples
    --------
    >>> rename_in_prose("`cut(text)`: cut it, see `cut` and best_cut", {"cut": "trim", "best_cut": "best_trim"})
    '`trim(text)`: cut it, see `trim` and best_trim'
    """
    for old, new in names.items():
        word = re.escape(old)
        pattern = rf"\b{word}\b" if "_" in old else rf"(?<=`){word}(?=`)|(?<![\w.]){word}(?=\()"
        text = re.sub(pattern, new, text)
    return text


def _read_tokens(source: str) -> list[tokenize.TokenInfo]:
    return list(tokenize.generate_tokens(io.StringIO(source).readline))


def _rename_in_remarks(source: str, names: Names) -> str:
    """Rename in comments and docstrings."""
    lines = source.splitlines(keepends=True)
    begins = True
    for token in _read_tokens(source):
        if token.type == tokenize.COMMENT or (begins and token.type == tokenize.STRING):
            for i in range(token.start[0] - 1, token.end[0]):
                first = token.start[1] if i == token.start[0] - 1 else 0
                lines[i] = lines[i][:first] + rename_in_prose(lines[i][first:], names)
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            begins = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
    return "".join(lines)


def _find_names(node: ast.AST, names: Names, local: frozenset[str]) -> Iterator[_Place]:
    """Yield where the module's own names stand, below a node in whose scope ``local`` are bound."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in names and node.name not in local:
        word = "def " if isinstance(node, ast.FunctionDef) else "class "
        yield _Place(node.lineno, node.col_offset + len(word), node.name)
    if isinstance(node, ast.Name) and node.id in names and node.id not in local:
        yield _Place(node.lineno, node.col_offset, node.id)
    inside = local | _bind(node) if isinstance(node, _SCOPES) else local
    for child in ast.iter_child_nodes(node):
        yield from _find_names(child, names, inside)


def _bind(scope: ast.AST) -> frozenset[str]:
    """Return the names that a scope binds itself."""
    found: set[str] = set()
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name)
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)
    return frozenset(found)


def _find_attributes(tree: ast.AST, names: Names, holders: set[str]) -> Iterator[_Place]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in names and _root(node) in holders:
            assert node.end_lineno is not None
            assert node.end_col_offset is not None
            yield _Place(node.end_lineno, node.end_col_offset - len(node.attr.encode()), node.attr)


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _find_texts(tree: ast.AST, names: Names, told_to: set[str]) -> Iterator[_Place]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
        if called in told_to:
            for text in node.args:
                if isinstance(text, ast.Constant) and isinstance(text.value, str) and text.value in names:
                    yield _Place(text.lineno, text.col_offset + 1, text.value)


def _find_imports(tree: ast.AST, names: Names, holders: set[str]) -> Iterator[_Place]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in holders:
            for alias in node.names:
                if alias.name in names:
                    yield _Place(alias.lineno, alias.col_offset, alias.name)
