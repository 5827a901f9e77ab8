"""Code to learn from: source files of the standard library and some packages, and the small functions in them.

A function is taken when its header, summary and body fit into a short document. The docstring is cut to its first
paragraph, and decorators and surrounding indentation are left behind, so that every document reads alone.
"""

from __future__ import annotations

import ast
import hashlib
import platform
import sysconfig
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from minispec.errors import CorpusError
from minispec.lab.training.corpus import clean

#: Packages that are read where they are installed, and their licences (notices in ``NOTICE``).
PACKAGES: Mapping[str, str] = {
    "click": "BSD-3-Clause",
    "jinja2": "BSD-3-Clause",
    "joblib": "BSD-3-Clause",
    "jupytext": "MIT",
    "mpmath": "BSD-3-Clause",
    "networkx": "BSD-3-Clause",
    "numpy": "BSD-3-Clause",
    "rich": "MIT",
    "sympy": "BSD-3-Clause",
}
#: Folders that are data or tests rather than code, or another package.
SKIPPED_FOLDERS = frozenset(
    {"site-packages", "dist-packages", "encodings", "pydoc_data", "__pycache__", "test", "tests", "idlelib", "lib2to3"}
)
#: One file in this many, chosen by a hash of its path, is held out for validation.
HELD_OUT_ONE_IN = 40


@dataclass(frozen=True)
class PythonFiles:
    """Source files of one library.

    Attributes
    ----------
    source : str
        The library and its version.
    train, valid : tuple of str
        Cleaned files of each split.
    """

    source: str
    train: tuple[str, ...]
    valid: tuple[str, ...]


def is_held_out(relative_path: str) -> bool:
    """Whether a file belongs to validation: a property of its path alone, the same on every machine."""
    digest = hashlib.sha256(relative_path.encode()).digest()
    return int.from_bytes(digest[:8], "big") % HELD_OUT_ONE_IN == 0


def read_folder(root: Path, source: str, prefix: str = "") -> PythonFiles:
    """Read all Python files under a folder; `prefix` goes before the paths that are hashed."""
    splits: tuple[dict[str, None], dict[str, None]] = ({}, {})  # ordered sets: exact copies are dropped
    for path in sorted(root.rglob("*.py")):
        relative = path.relative_to(root)
        if SKIPPED_FOLDERS.intersection(relative.parts):
            continue
        try:
            document = clean(path.read_bytes().decode("utf-8"))
        except UnicodeDecodeError:  # sources in another encoding are rare, and not our text
            continue
        if document:
            splits[is_held_out(prefix + relative.as_posix())][document] = None
    return PythonFiles(source, tuple(splits[0]), tuple(document for document in splits[1] if document not in splits[0]))


def read_library() -> list[PythonFiles]:
    """Read the standard library, first, and every installed package of ``PACKAGES``."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    libraries = [read_folder(Path(sysconfig.get_path("stdlib")), f"standard library of {python}")]
    for name in PACKAGES:
        spec = find_spec(name)
        if spec is not None and spec.submodule_search_locations:
            libraries.append(
                read_folder(Path(next(iter(spec.submodule_search_locations))), f"{name} {version(name)}", f"{name}/")
            )
    return libraries


def read_code(root: Path | None = None) -> list[PythonFiles]:
    """Read the Python files of `root`, or those of :func:`read_library`.

    Raises
    ------
    CorpusError
        One of the two splits would be empty.
    """
    libraries = read_library() if root is None else [read_folder(root, f"Python files of {root.name}")]
    for split in ("train", "valid"):
        if not any(getattr(library, split) for library in libraries):
            raise CorpusError(
                f"{root or 'the standard library'} holds no Python file for the {split} split; code comes from there. "
                "Use a full Python, or give another folder with --code"
            )
    return libraries


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
