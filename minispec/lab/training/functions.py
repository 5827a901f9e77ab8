"""Small Python functions with one-line docstrings, cut out of source files.

A function is taken when its header, summary and body fit into a short document. The docstring is cut to its first
paragraph, and decorators and surrounding indentation are left behind, so that every document reads alone.
"""

from __future__ import annotations

import ast
import textwrap
import warnings
from collections.abc import Iterator

#: Longest function kept, in characters, its summary included.
MAX_CHARS = 900
#: Longest summary kept, in characters.
MAX_SUMMARY_CHARS = 160
Function = ast.FunctionDef


def _functions(tree: ast.Module) -> Iterator[Function]:
    """Yield functions of the module and methods of its classes, in order; not functions within functions."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from (child for child in node.body if isinstance(child, ast.FunctionDef))


def _cut(node: Function, lines: list[str]) -> str | None:
    """Return the text of one function with its docstring cut to a summary, or None where it does not qualify."""
    docstring = ast.get_docstring(node)
    if not docstring or len(node.body) < 2 or node.end_lineno is None:
        return None
    summary = " ".join(docstring.split("\n\n")[0].split())
    first = node.body[0]
    signature = lines[node.lineno - 1 : first.lineno - 1]
    if len(summary) > MAX_SUMMARY_CHARS or first.end_lineno is None or not signature or set('\\"') & set(summary):
        return None
    indent = " " * (node.col_offset + 4)
    body = lines[first.end_lineno : node.end_lineno]
    text = textwrap.dedent("\n".join([*signature, f'{indent}"""{summary}"""', *body]))
    if len(text) > MAX_CHARS or not text.isascii() or "\t" in text:
        return None
    try:
        ast.parse(text)  # comments between signature and docstring, odd indentation: not worth telling apart
    except SyntaxError:
        return None
    return text


def small_functions(source: str) -> list[str]:
    """Cut the small documented functions out of one Python file; a file that does not parse has none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # old files' escape sequences
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            return []
        lines = source.split("\n")
        return [text for node in _functions(tree) if (text := _cut(node, lines)) is not None]


def prompt_of(function: str) -> str:
    """Return the signature and summary of a function cut by :func:`small_functions`, up to where its body begins."""
    node = ast.parse(function).body[0]
    assert isinstance(node, ast.FunctionDef)
    end = node.body[0].end_lineno
    return "\n".join(function.split("\n")[:end]) + "\n"
